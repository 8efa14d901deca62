/* SPDX-License-Identifier: Apache-2.0 */
/* Between slowlog.c (input, life), slowlog_events.c (one event) and slowlog_batch.c (columns). */
#ifndef QT_SLOWLOG_PRIVATE_H
#define QT_SLOWLOG_PRIVATE_H

#include <stdatomic.h>

#include "arrow_build.h"
#include "input.h"
#include "problems.h"
#include "querytape.h"
#include "sessions.h"
#include "slowlog_grammar.h"
#include "timeline.h"

/* Columns of the events stream; the same order as in qt_slow_columns[]. */
enum qt_slow_column {
    QT_SC_SESSION, QT_SC_SEQ, QT_SC_THREAD_ID, QT_SC_COMMAND, QT_SC_START_NS, QT_SC_DURATION_NS, QT_SC_PRECISION_NS,
    QT_SC_USER, QT_SC_HOST, QT_SC_DB, QT_SC_STATEMENT, QT_SC_INSERT_ID, QT_SC_LAST_INSERT_ID, QT_SC_FILE, QT_SC_OFFSET,
    QT_SC_DIGEST, QT_SC_CLASS, QT_SC_ROWS_SENT, QT_SC_ROWS_EXAMINED, QT_SC_ROWS_AFFECTED, QT_SC_BYTES_SENT, QT_SC_LOCK_NS,
    QT_SC_WARNINGS, QT_SC_ERRNO, QT_SC_FLAGS,
    QT_SLOW_COLUMNS
};

struct qt_slow_batch {
    struct qt_columns columns;
    struct qt_moment *moments;
    size_t rows, room;
    uint64_t bytes; /* of statements */
};

#define QT_ZONES 121 /* quarters of an hour from -15:00 to +15:00 */

struct qt_slowlog {
    struct qt_slowlog_options options;
    char **paths;
    int32_t n_paths, file;
    struct qt_input *input;       /* NULL after the last file */
    uint64_t bytes_before;        /* stored bytes of the files done */
    char *buffer;
    size_t begin, end, room;      /* unread: [begin, end) */
    uint64_t offset;              /* of buffer[begin] in its file */
    uint64_t line;                /* of buffer[counted] */
    size_t counted;
    uint64_t file_events;
    int at_end;                   /* nothing of this file is behind buffer[end] */
    int header_known;             /* a whole header stands at buffer[begin] */
    int skipping;                 /* inside bytes that no grammar knows: said once */

    /* what one event leaves to the next */
    struct qt_logtime time;       /* of the last `# Time:` understood */
    int has_use;
    struct { char *p; size_t len, room; } use; /* the last `use` line: log-wide until the next server header */
    int pending_restart;          /* a server header was seen: the next event tells what it was */
    int after_flush;              /* the last event was a FLUSH that writes a new header */
    uint64_t largest_thread;
    int said_no_thread;

    struct qt_normalizer *normalizer;
    struct qt_sessions sessions;
    struct qt_timeline timeline;
    struct qt_problems problems;
    struct qt_slow_batch batch;
    uint32_t zones[QT_ZONES];
    char server_version[128];     /* under problems.lock */

    uint64_t part_rows, part_bytes;         /* bounds of the stream being pulled */
    uint64_t part_rows_done, part_bytes_done;

    _Atomic uint64_t bytes_read, bytes_parsed, events, n_sessions, restarts;
    _Atomic int64_t first_ns, last_ns;
    _Atomic int32_t rate_limit, rate_by_query, has_extra, file_now, finished, stopped;
};

int qt_slow_fill(struct qt_slowlog *, size_t want, struct qt_error *);
uint64_t qt_slow_count_lines(struct qt_slowlog *); /* line of buffer[begin] */
int qt_slow_next_file(struct qt_slowlog *, struct qt_error *);
/* Reads events into the batch until it is full or nothing is left. */
int qt_slow_read_batch(struct qt_slowlog *, struct qt_error *);
int qt_slow_peek_time(struct qt_slowlog *, int64_t *out_ns, struct qt_error *);
/* Median of local time less UTC; returns whether the log showed both. Under problems.lock. */
int qt_slow_zone(const struct qt_slowlog *, int64_t *out_ns);

/* slowlog_state.c */
void qt_slow_note_zone(struct qt_slowlog *, const struct qt_slow_event *);
void qt_slow_stamp(const struct qt_slowlog *, const struct qt_slow_event *, struct qt_moment *); /* when_ns, stamp, flags */
int qt_slow_gives_clock_back(struct qt_span statement);
/* `flush`: the event is a FLUSH that writes a new header. */
int qt_slow_is_restart(const struct qt_slowlog *, int flush, int64_t thread_id, uint64_t key, uint32_t account);
/* Index of the entry of the session, whose seq is this event's; -1 when out of memory. */
int64_t qt_slow_find_session(struct qt_slowlog *, uint64_t key, uint32_t account, const char *command);

int qt_slow_batch_init(struct qt_slow_batch *);
void qt_slow_batch_free(struct qt_slow_batch *);

/* One row, as the columns want it. */
struct qt_slow_row {
    const struct qt_slow_event *event;
    const struct qt_session_entry *entry;
    const struct qt_statement *statement; /* NULL for a command without a text */
    struct qt_span text, user, host, db;  /* db.p NULL = unknown */
    const char *command;
    int64_t file, offset, precision_ns;
    int64_t thread_id;
};
void qt_slow_batch_add(struct qt_slow_batch *, const struct qt_slow_row *, const struct qt_moment *);
int qt_slow_batch_room(struct qt_slow_batch *); /* makes room for one more; 0, or -1 when out of memory */

#endif

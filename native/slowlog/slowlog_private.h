/* SPDX-License-Identifier: Apache-2.0 */
/* Between slowlog.c (life), slowlog_events.c (one event after the other) and slowlog_state.c (what it means in its place). */
#ifndef QT_SLOWLOG_PRIVATE_H
#define QT_SLOWLOG_PRIVATE_H

#include "log.h"
#include "slowlog_grammar.h"

#define QT_ZONES 121 /* quarters of an hour from -15:00 to +15:00 */

struct qt_slowlog {
    struct qt_log log;
    int header_known;             /* a whole header stands at buffer[begin] */
    int skipping;                 /* inside bytes that no grammar knows: said once */

    /* what one event leaves to the next */
    struct qt_logtime time;       /* of the last `# Time:` understood */
    int has_use;
    struct { char *p; size_t len, room; } use; /* the last `use` line: log-wide until the next server header */
    int pending_restart;          /* a server header was seen: the next event tells what it was */
    int after_flush;              /* the last event was a FLUSH that writes a new header */
    int said_no_thread;

    pthread_mutex_t lock;         /* of the two below */
    int has_lock;
    uint32_t zones[QT_ZONES];
    char server_version[128];
    _Atomic uint64_t restarts;
    _Atomic int32_t rate_limit, rate_by_query, has_extra;
};

int qt_slow_next_file(struct qt_slowlog *, struct qt_error *);
/* Reads events into the batch until it is full or nothing is left. */
int qt_slow_read_events(struct qt_slowlog *, struct qt_error *);
int qt_slow_peek_time(struct qt_slowlog *, int64_t *out_ns, struct qt_error *);
/* Median of local time less UTC; returns whether the log showed both. */
int qt_slow_zone(const struct qt_slowlog *, int64_t *out_ns);

/* slowlog_state.c */
void qt_slow_note_zone(struct qt_slowlog *, const struct qt_slow_event *);
void qt_slow_stamp(const struct qt_slowlog *, const struct qt_slow_event *, struct qt_moment *); /* when_ns, stamp, flags */
int qt_slow_gives_clock_back(struct qt_span statement);
/* `flush`: the event is a FLUSH that writes a new header. */
int qt_slow_is_restart(const struct qt_slowlog *, int flush, int64_t thread_id, uint64_t key, uint32_t account);

#endif

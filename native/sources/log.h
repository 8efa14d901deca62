/* SPDX-License-Identifier: Apache-2.0 */
/* What every text log shares: files in order, a buffer with places in it, digests, sessions by thread id, times to be laid.
 *
 *     struct qt_slowlog { struct qt_log log; ... };      the log is the first member
 *     qt_log_init(&s->log, &kind, paths, n, error)       kind.close calls qt_log_done, then frees s
 */
#ifndef QT_LOG_H
#define QT_LOG_H

#include "input.h"
#include "logtime.h"
#include "reader.h"
#include "sessions.h"
#include "timeline.h"

#define QT_LOG_NO_THREAD (UINT64_C(1) << 63) /* marks a session key that is no thread id */

struct qt_log {
    struct qt_reader reader;
    const char *what;             /* "slow log", ...: for messages */
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

    int64_t timezone_ns;          /* of local times, where has_timezone */
    int has_timezone;
    uint64_t largest_thread;
    struct qt_normalizer *normalizer;
    struct qt_sessions sessions;
    struct qt_timeline timeline;
};

/* Fails where a file can't be opened; the caller then calls the kind's close. */
int qt_log_init(struct qt_log *, const struct qt_reader_kind *, const char *what, const char *const *paths, int32_t n_paths,
                const struct qt_log_options *, struct qt_error *);
void qt_log_done(struct qt_log *);
/* Reads until there are at least `want` unread bytes, or the file ends. */
int qt_log_fill(struct qt_log *, size_t want, struct qt_error *);
/* Goes on with the next file: 1, 0 where there is none, -1 where it can't be opened. */
int qt_log_next_file(struct qt_log *, struct qt_error *);
void qt_log_consume(struct qt_log *, size_t used);
uint64_t qt_log_count_lines(struct qt_log *); /* line of buffer[begin] */
/* A problem at buffer[begin]; `found` is shown cut. */
void qt_log_problem(struct qt_log *, const char *kind, const char *expected, struct qt_span found);
/* The next whole line at buffer[begin], without its end; *used with it. 0 = nothing is left of this file, -1 = *code. */
int qt_log_line(struct qt_log *, struct qt_span *line, size_t *used, int *code, struct qt_error *);
/* Forgets long unused sessions where there are too many; between batches. */
void qt_log_trim_sessions(struct qt_log *);
/* Index of the entry of the session that `key` means now, with seq for its next event: another account or an ended
 * session begin a new one, unless the command is change_user. -1 when out of memory. */
int64_t qt_log_session(struct qt_log *, uint64_t key, uint32_t account, const char *command);
/* Lays the times of the batch: for sources that gave moments. */
void qt_log_lay(struct qt_log *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of all text log readers: files in order, a buffer with positions, digests, sessions by thread id, and
 * start times.
 *
 *     struct qt_slowlog { struct qt_log log; ... };           the log is the first member
 *     s = qt_log_open(sizeof *s, &kind, ...)                  all other members are zero
 *     kind.close: frees the members of s, then calls qt_log_close(&s->log), which frees s
 *
 * The parsing thread calls these functions, except qt_log_open, qt_log_close and qt_log_describe. */
#ifndef QT_LOG_H
#define QT_LOG_H

#include "reader/follow.h"
#include "reader/input.h"
#include "reader/log_time.h"
#include "reader/reader.h"
#include "reader/sessions.h"
#include "reader/timeline.h"

#define QT_LOG_MAX_BATCH (UINT64_C(1) << 30) /* bytes of texts per batch, because its columns have 32-bit offsets */
#define QT_LOG_NO_THREAD (UINT64_C(1) << 63) /* marks a session key that is not a thread id */

struct qt_log {
    struct qt_reader reader;
    const char *what; /* kind of log, such as "slow log", for messages */
    struct qt_inputs inputs;
    int32_t file;
    struct qt_input *input;         /* NULL after the last file, and while a file is followed */
    struct qt_follow *follow;       /* the followed last path, opened at the start; NULL = none */
    int following;                  /* the followed file is being read */
    int64_t part_ns, part_began_ns; /* for a followed file; `part_began_ns` 0 = no event yet */
    int64_t heard_ns;               /* time when the followed file last grew */
    int exact_times;                /* this kind of log has exact start times and no event_times */
    uint64_t bytes_before;          /* stored bytes of the finished files */
    char *buffer;
    size_t begin, end, room; /* unread: [begin, end) */
    size_t max_event;        /* maximum size of the buffer in bytes; larger events are truncated */
    int line_is_cut;         /* the line from qt_log_line is incomplete, because it exceeds `max_event` */
    int in_cut_line;         /* the rest of an incomplete line is at buffer[begin] */
    uint64_t offset;         /* file offset of buffer[begin] */
    uint64_t line;           /* line number of buffer[counted] */
    size_t counted;
    uint64_t file_events, passed_before; /* events of this file; total bytes without an event before this file */
    int at_end;                          /* the file has no bytes after buffer[end] */
    int was_truncated, last_file;        /* reasons why a followed file ended */

    struct qt_local_clock local;
    struct qt_normalizer *normalizer;
    struct qt_sessions sessions;
    struct qt_timeline timeline;
};

/* Creates a log reader of `size` bytes, whose first member is a struct qt_log. The `close` function of the kind frees
 * the reader. `what` is the kind of log for messages, and its pointer must stay valid. Returns NULL with `error` filled
 * when out of memory or if a file cannot be opened. */
void *qt_log_open(size_t size, const struct qt_reader_kind *, const char *what, const char *const *paths,
                  int32_t n_paths, const struct qt_log_options *, struct qt_error *);
/* Frees the log reader and its object. The `close` function of the kind calls this function last. */
void qt_log_close(struct qt_log *);
/* Returns whether a file is left to read. */
static inline int qt_log_is_open(const struct qt_log *l) { return l->input != NULL || l->following; }
/* Returns how many bytes to request if `have` bytes do not contain a whole event. The number grows by a quarter. A
 * large event from a pipe is then not parsed again for every few bytes. A followed file may grow by a single byte. */
static inline size_t qt_log_more(const struct qt_log *l, size_t have)
{
    return l->following ? have + 1 : have + have / 4 + 1;
}
/* Reads until `want` bytes are unread, the file ends or the buffer holds max_event bytes. The buffer may move. Returns
 * QT_EAGAIN if the batch has rows and is due, and no input is available. */
int qt_log_fill(struct qt_log *, size_t want, struct qt_error *);
/* Assigns start times to the batch if `code` is QT_OK or QT_EAGAIN. Returns `code`. Kinds of logs with event_times call
 * this function at the end of read_batch. */
int qt_log_end_batch(struct qt_log *, int code);
/* Opens the next file. Returns 1, 0 if there is no next file, -1 if the file cannot be opened. */
int qt_log_next_file(struct qt_log *, struct qt_error *);
void qt_log_consume(struct qt_log *, size_t used);
/* Consumes the line from qt_log_line, including the rest of an incomplete line. */
void qt_log_consume_line(struct qt_log *, size_t used);
/* Returns whether the event at buffer[begin] exceeds the maximum size of an event. */
static inline int qt_log_is_full(const struct qt_log *l) { return !l->at_end && l->end - l->begin >= l->max_event; }
/* Reports that the event at buffer[begin] was truncated. */
void qt_log_add_cut_problem(struct qt_log *, struct qt_span text);
uint64_t qt_log_count_lines(struct qt_log *); /* returns the line number of buffer[begin] */
/* Reports a problem at buffer[begin]. `found` is shown truncated. */
void qt_log_add_problem(struct qt_log *, const char *kind, const char *message, struct qt_span found);
/* Reports that `line` at buffer[begin] is not a record of the log. The line may be part of a statement. It is therefore
 * shown without secrets, or up to its first quote. */
void qt_log_add_bad_record(struct qt_log *, const char *kind, const char *message, struct qt_span line);
/* Ends a statement's text before `line`, where a wrapped log begins (reader/log_text.h). The text stays unchanged if
 * `line` is NULL or inside a literal. `used` is the length of the event from buffer[begin] on. Returns the bytes from
 * `line` on. On failure, returns no bytes and sets `*code`. */
struct qt_span qt_log_cut_wrapped(struct qt_log *, struct qt_session_mode, const char *line, size_t used,
                                  struct qt_span *text, struct qt_statement *, int *code, struct qt_error *);
/* Reports the remaining bytes of qt_log_cut_wrapped, after their event was added to the batch. */
void qt_log_add_wrapped(struct qt_log *, struct qt_span left);
/* Returns the next whole line at buffer[begin], without its line end. `*used` is the length of the line with its line
 * end. Returns 1, 0 at the end of this file, or -1 with `*code` set. */
int qt_log_line(struct qt_log *, struct qt_span *line, size_t *used, int *code, struct qt_error *);
/* Returns the line that begins `from` bytes after buffer[begin], without its newline. Returns NULL at the end of this
 * file, or with `*code` set on failure. The buffer may move. */
const char *qt_log_line_at(struct qt_log *, size_t from, size_t *len, int *code, struct qt_error *);
/* Records a jump of the local times at buffer[begin], for the next event of the batch. */
void qt_log_note_jump(struct qt_log *, const struct qt_event_time *);
/* Returns whether the batch must be closed before an event with this time and `text` bytes of text. Events of one whole
 * second stay together, unless the batch becomes too large. */
int qt_log_must_close(const struct qt_log *, const struct qt_event_time *, size_t text);
/* Forgets the longest unused sessions if there are too many sessions. Must be called between batches. */
void qt_log_trim_sessions(struct qt_log *);
/* Returns the index of the current session entry of `key`, with `seq` set for its next event. A new session begins
 * after the end of the old session. Another account also begins a new session, unless the command is change_user.
 * Returns -1 when out of memory. */
int64_t qt_log_find_session(struct qt_log *, uint64_t key, uint32_t account, const char *command);
/* Returns the settings of the current session of `key`. These settings decide how its statements are parsed. */
struct qt_session_mode qt_log_find_mode(const struct qt_log *, uint64_t key, uint32_t account);
/* Applies an executed statement's settings to the session of this entry. `outcome`: as in qt_session_mode_follow. */
void qt_log_follow_mode(struct qt_log *, int64_t entry, const struct qt_statement *, struct qt_span text, int outcome);

/* Sessions that were open before the log began. The parsing thread uses them. */
/* Adds the rows of the state that a session had before the log began. Applies only to a session's first event, if the
 * server reported the session. The rows precede the event: its `seq` increases by their number. `like` is the row of
 * the event, and `time` is its time. Returns NULL if the session is unknown, or with `*code` set on failure. */
const struct qt_open_session *qt_log_add_carried(struct qt_log *, int64_t at, struct qt_event_row *like,
                                                 const struct qt_event_time *time, int *code);

#endif

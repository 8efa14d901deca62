/* SPDX-License-Identifier: Apache-2.0 */
/* Reads text logs, as far as all kinds are alike: files in order, a buffer with places in it, digests, sessions by
 * thread id, start times to be assigned.
 *
 *     struct qt_slowlog { struct qt_log log; ... };           the log is the first member
 *     s = qt_log_open(sizeof *s, &kind, ...)                  all of it is zero but the log
 *     kind.close: frees what s owns, then qt_log_close(&s->log), which frees s
 *
 * The parsing thread calls them all, but for qt_log_open, qt_log_close and qt_log_describe.
 */
#ifndef QT_LOG_H
#define QT_LOG_H

#include "reader/follow.h"
#include "reader/input.h"
#include "reader/log_time.h"
#include "reader/reader.h"
#include "reader/sessions.h"
#include "reader/timeline.h"

#define QT_LOG_MAX_BATCH (UINT64_C(1) << 30) /* bytes of texts in a batch: its columns have 32-bit offsets */
#define QT_LOG_NO_THREAD (UINT64_C(1) << 63) /* marks a session key that is no thread id */

struct qt_log {
    struct qt_reader reader;
    const char *what; /* "slow log", ...: for messages */
    struct qt_inputs inputs;
    int32_t file;
    struct qt_input *input;   /* NULL after the last file, and of the file that is followed */
    struct qt_follow *follow; /* the last path where it is followed, opened from the beginning on; NULL = none is */
    int following;            /* it is being read */
    int64_t part_ns, part_began_ns; /* of what is followed; 0 = no event yet */
    int64_t heard_ns;               /* when it last grew */
    int exact_times;                /* the kind gives no event_times: its events have starts */
    uint64_t bytes_before;          /* stored bytes of the files done */
    char *buffer;
    size_t begin, end, room; /* unread: [begin, end) */
    size_t max_event;        /* the buffer grows to this; what is larger is cut */
    int line_is_cut;         /* the line that qt_log_line gave goes on: it is larger than max_event */
    int in_cut_line;         /* the rest of such a line is at buffer[begin] */
    uint64_t offset;         /* of buffer[begin] in its file */
    uint64_t line;           /* of buffer[counted] */
    size_t counted;
    uint64_t file_events, passed_before; /* of this file; bytes not understood before it */
    int at_end;                          /* nothing of this file is behind buffer[end] */
    int was_truncated, last_file;        /* why a followed file is at its end */

    struct qt_local_clock local;
    struct qt_normalizer *normalizer;
    struct qt_sessions sessions;
    struct qt_timeline timeline;
};

/* Makes the object of a log reader, whose first member is a struct qt_log: `size` bytes, freed by the kind's close.
 * NULL when out of memory or where a file can't be opened: told in `error`. `what` names the kind of log in messages;
 * it is kept. */
void *qt_log_open(size_t size, const struct qt_reader_kind *, const char *what, const char *const *paths,
                  int32_t n_paths, const struct qt_log_options *, struct qt_error *);
/* For the kind's close, at its end: frees what qt_log_open made, with the object. */
void qt_log_close(struct qt_log *);
/* Is there a file left to be read? */
static inline int qt_log_is_open(const struct qt_log *l) { return l->input != NULL || l->following; }
/* How many bytes to ask for where `have` are no whole event: a quarter more, so that a large one is not read again for
 * every few bytes of a pipe. What is followed may have only a byte to come. */
static inline size_t qt_log_more(const struct qt_log *l, size_t have)
{
    return l->following ? have + 1 : have + have / 4 + 1;
}
/* Reads until there are at least `want` unread bytes, the file ends or the buffer holds max_event of them. It may
 * move. QT_EAGAIN: the batch, which has rows, is due, and nothing comes for now. */
int qt_log_fill(struct qt_log *, size_t want, struct qt_error *);
/* For the end of read_batch: gives the batch its start times where it was read or is due, and returns the code. For
 * kinds that gave event_times. */
int qt_log_end_batch(struct qt_log *, int code);
/* Goes on with the next file: 1, 0 where there is none, -1 where it can't be opened. */
int qt_log_next_file(struct qt_log *, struct qt_error *);
void qt_log_consume(struct qt_log *, size_t used);
/* The same for what qt_log_line gave: the rest of a cut line goes, too. */
void qt_log_consume_line(struct qt_log *, size_t used);
/* Does the event at buffer[begin] go on behind the buffer, which is as large as an event may be? */
static inline int qt_log_is_full(const struct qt_log *l) { return !l->at_end && l->end - l->begin >= l->max_event; }
/* Says that the event at buffer[begin] was cut there. */
void qt_log_add_cut_problem(struct qt_log *, struct qt_span text);
uint64_t qt_log_count_lines(struct qt_log *); /* line of buffer[begin] */
/* A problem at buffer[begin]; `found` is shown cut. */
void qt_log_add_problem(struct qt_log *, const char *kind, const char *message, struct qt_span found);
/* The same for `line`, which is no record of the log. It may be a part of a statement: it is shown without its secrets,
 * or as far as its first quote. */
void qt_log_add_bad_record(struct qt_log *, const char *kind, const char *message, struct qt_span line);
/* Ends a statement's text in front of `line`, where a wrapped log begins in it (reader/log_text.h); leaves it as it
 * is where `line` is NULL or inside a literal. `used`: bytes from buffer[begin] that are the event's. Returns the bytes
 * that are left over; none with *code. */
struct qt_span qt_log_cut_wrapped(struct qt_log *, struct qt_session_mode, const char *line, size_t used,
                                  struct qt_span *text, struct qt_statement *, int *code, struct qt_error *);
/* Tells these bytes, once their event is in the batch. */
void qt_log_add_wrapped(struct qt_log *, struct qt_span left);
/* The next whole line at buffer[begin], without its end; *used with it. 0 = nothing is left of this file, -1 =
 * *code. */
int qt_log_line(struct qt_log *, struct qt_span *line, size_t *used, int *code, struct qt_error *);
/* The line that begins `from` bytes behind buffer[begin], without its newline; NULL where nothing is left of this file,
 * or with *code. The buffer may move. */
const char *qt_log_line_at(struct qt_log *, size_t from, size_t *len, int *code, struct qt_error *);
/* For an event that is added to the batch next, at buffer[begin]: notes where local times jump. */
void qt_log_note_jump(struct qt_log *, const struct qt_event_time *);
/* Is the batch to be closed before an event of this time with a text of so many bytes? Events of one whole second stay
 * together, unless that makes a batch too large. */
int qt_log_must_close(const struct qt_log *, const struct qt_event_time *, size_t text);
/* Forgets long unused sessions where there are too many; between batches. */
void qt_log_trim_sessions(struct qt_log *);
/* Index of the entry of the session that `key` means now, with seq for its next event: another account or an ended
 * session begin a new one, unless the command is change_user. -1 when out of memory. */
int64_t qt_log_find_session(struct qt_log *, uint64_t key, uint32_t account, const char *command);
/* How the session that `key` means now has its statements read: what it has set. */
struct qt_session_mode qt_log_find_mode(const struct qt_log *, uint64_t key, uint32_t account);
/* The session of this entry had `text` executed. `outcome`: as of qt_session_mode_follow. */
void qt_log_follow_mode(struct qt_log *, int64_t entry, const struct qt_statement *, struct qt_span text, int outcome);

/* Sessions of a log that were open before it. In the parsing thread. */
/* Where the entry's session has begun with this event and was open before, as its server says: adds the rows of its
 * state before the event's, whose seq grows by them; `like` and `time` are the event's. NULL = it is not known, or
 * *code. */
const struct qt_open_session *qt_log_add_carried(struct qt_log *, int64_t at, struct qt_event_row *like,
                                                 const struct qt_event_time *time, int *code);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow of a log reader:
 *
 *   files -> input.c -> buffer:  [ parsed | unread ............ | free ]
 *                                         begin                 end    room
 *
 * Lines are parsed in place. If more bytes are needed, the unread bytes move to the front of the buffer, or the buffer
 * doubles. */
#include "reader/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "reader/log_time.h"
#include "reader/reader.h"

#define PART_NS (5 * QT_SECOND)
#define QUIET_NS (QT_SECOND + QT_SECOND / 5) /* silence after which the last second of a log with whole seconds ends */

static void let_end(struct qt_reader *reader) { qt_follow_end(((struct qt_log *)reader)->follow); }

static void describe_following(struct qt_reader *reader, struct qt_json *json)
{
    qt_follow_describe(((struct qt_log *)reader)->follow, json);
}

/* Opens the path to be followed. */
static int open_followed(struct qt_log *l, const char *path, const struct qt_log_options *options,
                         struct qt_error *error)
{
    l->follow = qt_follow_open(path, options->from_end, error);
    if (l->follow == NULL)
        return error != NULL ? error->code : QT_EIO;
    l->part_ns = options->part_ns > 0 ? options->part_ns : PART_NS;
    l->reader.let_end = let_end;
    l->reader.describe_more = describe_following;
    return QT_OK;
}

/* Returns whether the batch must be closed. Events of one second stay in one batch if the log has whole seconds and the
 * second may continue. */
static int is_due(struct qt_log *l, int64_t now)
{
    struct qt_reader *r = &l->reader;
    if (r->batch.rows == 0)
        return 0;
    if (l->part_began_ns == 0)
        l->part_began_ns = now;
    r->due = now - l->part_began_ns >= l->part_ns;
    int seconds = !l->exact_times && r->batch.event_times[r->batch.rows - 1].stamp_kind == QT_STAMP_SECOND;
    return r->due && (!seconds || now - l->heard_ns >= QUIET_NS);
}

/* Fills the buffer from a followed file, like qt_log_fill. A truncation without a copy ends the file and sets
 * `was_truncated`. */
static int fill_following(struct qt_log *l, size_t want, struct qt_error *error)
{
    while (!l->at_end && l->end - l->begin < want && l->end < l->room && !atomic_load(&l->reader.stopped)) {
        size_t got = 0;
        int ending = qt_follow_is_ending(l->follow); /* check before reading: bytes written later are ignored */
        enum qt_follow_read what = qt_follow_read(l->follow, l->buffer + l->end, l->room - l->end, &got, error);
        int64_t now = qt_now();
        l->end += got;
        if (what == QT_FOLLOW_FAILED)
            return error != NULL ? error->code : QT_EIO;
        if (what == QT_FOLLOW_BYTES)
            l->heard_ns = now;
        l->at_end = what == QT_FOLLOW_OTHER || what == QT_FOLLOW_TRUNCATED || (what == QT_FOLLOW_NOTHING && ending);
        l->was_truncated = what == QT_FOLLOW_TRUNCATED;
        l->last_file = what == QT_FOLLOW_NOTHING && ending;
        atomic_store_explicit(&l->reader.bytes_read, l->bytes_before + qt_follow_bytes(l->follow),
                              memory_order_relaxed);
        int due = is_due(l, now);
        if (what != QT_FOLLOW_NOTHING || ending)
            continue;
        if (due)
            return QT_EAGAIN;
        qt_follow_wait(l->follow);
    }
    l->at_end |= atomic_load(&l->reader.stopped);
    return QT_OK;
}

#define FIRST_BUFFER ((size_t)512 << 10)
#define MAX_EVENT ((size_t)1100 << 20) /* max_allowed_packet is at most 1 GiB */
#define MIN_EVENT ((size_t)4 << 10)    /* enough for a header with its lines */
#define KEPT_BUFFER ((size_t)16 << 20) /* a larger buffer is reduced after the event that needed it */
#define SPLIT 4                        /* a second with more than this multiple of a part is split over batches */
#define SESSIONS_KEPT (4u << 20)

static int set_up(struct qt_log *l, const struct qt_reader_kind *kind, const char *const *paths, int32_t n_paths,
                  const struct qt_log_options *options, struct qt_error *error)
{
    int bad = qt_inputs_init(&l->inputs, paths, options->opened, n_paths) != 0;
    l->room = FIRST_BUFFER < l->max_event ? FIRST_BUFFER : l->max_event;
    l->buffer = malloc(l->room);
    l->normalizer = qt_normalizer_new();
    if (bad || qt_reader_init(&l->reader, kind) != 0 || l->buffer == NULL || l->normalizer == NULL ||
        qt_sessions_init(&l->sessions, SESSIONS_KEPT) != 0 || qt_local_clock_init(&l->local, options) != 0)
        return qt_fail(error, QT_ENOMEM, "out of memory");
    int code = QT_OK;
    int32_t n_inputs = n_paths;
    if (options->follow && n_paths > 0) {
        int bad_follow = open_followed(l, paths[--n_inputs], options, error);
        if (bad_follow)
            return bad_follow;
    }
    for (int32_t i = 0; i < n_inputs && code == QT_OK; i++) /* report a missing file before writing anything */
        code = l->inputs.opened[i] == NULL ? qt_input_check(paths[i], error) : QT_OK;
    l->following = l->follow != NULL && n_inputs == 0;
    if (code == QT_OK && n_inputs > 0 && (l->input = qt_inputs_take(&l->inputs, 0, error)) == NULL)
        code = error != NULL ? error->code : QT_EIO;
    return code;
}

void *qt_log_open(size_t size, const struct qt_reader_kind *kind, const char *what, const char *const *paths,
                  int32_t n_paths, const struct qt_log_options *options, struct qt_error *error)
{
    struct qt_log *l = calloc(1, size);
    if (l == NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        return NULL;
    }
    l->what = what;
    l->line = 1;
    l->max_event = options->max_event <= 0                  ? MAX_EVENT
                   : (size_t)options->max_event > MIN_EVENT ? (size_t)options->max_event
                                                            : MIN_EVENT;
    qt_timeline_init(&l->timeline);
    if (set_up(l, kind, paths, n_paths, options, error) != QT_OK) {
        kind->close(&l->reader);
        return NULL;
    }
    return l;
}

void qt_log_close(struct qt_log *l)
{
    qt_input_close(l->input);
    qt_follow_close(l->follow);
    qt_inputs_free(&l->inputs);
    free(l->buffer);
    qt_normalizer_free(l->normalizer);
    qt_sessions_free(&l->sessions);
    qt_local_clock_free(&l->local);
    qt_reader_release(&l->reader);
    free(l);
}

/* Lines are counted only when a problem needs a line number, or before bytes leave the buffer. Counting continues at
 * the last position. */
uint64_t qt_log_count_lines(struct qt_log *l)
{
    const char *p = l->buffer + l->counted;
    size_t n = l->begin - l->counted;
    uint64_t lines = 0;
    while (n > 0) { /* runs of at most 255 bytes fit a uint8_t counter, so the compiler can vectorize the loop */
        size_t run = n < 255 ? n : 255;
        uint8_t found = 0;
        for (size_t i = 0; i < run; i++)
            found = (uint8_t)(found + (p[i] == '\n'));
        lines += found;
        p += run;
        n -= run;
    }
    l->counted = l->begin;
    return l->line += lines;
}

void qt_log_add_problem(struct qt_log *l, const char *kind, const char *message, struct qt_span found)
{
    qt_problems_add(&l->reader.problems, l->file, (int64_t)qt_log_count_lines(l), (int64_t)l->offset, kind, message,
                    found.p, found.len);
}

void qt_log_add_bad_record(struct qt_log *l, const char *kind, const char *message, struct qt_span line)
{
    qt_log_add_problem(l, kind, message, qt_problem_excerpt(l->normalizer, line));
}

struct qt_span qt_log_cut_wrapped(struct qt_log *l, struct qt_session_mode mode, const char *line, size_t used,
                                  struct qt_span *text, struct qt_statement *statement, int *code,
                                  struct qt_error *error)
{
    struct qt_span none = {NULL, 0};
    if (line == NULL)
        return none;
    struct qt_span kept = {text->p, (size_t)(line - text->p)};
    while (kept.len > 0 && (kept.p[kept.len - 1] == '\n' || kept.p[kept.len - 1] == '\r'))
        kept.len--;
    *code = qt_normalize(l->normalizer, &mode, kept.p, kept.len, statement, error);
    if (*code == QT_OK && statement->open_quote != 0) { /* a literal may contain lines that look like a header */
        *code = qt_normalize(l->normalizer, &mode, text->p, text->len, statement, error);
        return none;
    }
    if (*code != QT_OK)
        return none;
    *text = kept;
    return (struct qt_span){line, (size_t)(l->buffer + l->begin + used - line)};
}

void qt_log_add_wrapped(struct qt_log *l, struct qt_span left)
{
    const char *newline = left.len > 0 ? memchr(left.p, '\n', left.len) : NULL;
    if (left.len == 0)
        return;
    qt_reader_add_not_understood(&l->reader, left.len);
    left.len = newline != NULL ? (size_t)(newline - left.p) : left.len;
    qt_log_add_bad_record(l, "wrapped_record", "expected each record to begin on a new line", left);
}

void qt_log_consume(struct qt_log *l, size_t used)
{
    l->begin += used;
    l->offset += used;
    atomic_fetch_add_explicit(&l->reader.bytes_parsed, used, memory_order_relaxed);
}

void qt_log_consume_line(struct qt_log *l, size_t used)
{
    qt_log_consume(l, used);
    l->in_cut_line = l->line_is_cut;
}

void qt_log_add_cut_problem(struct qt_log *l, struct qt_span text)
{
    char message[96];
    snprintf(message, sizeof message, "the event is larger than %zu bytes, so its end was cut off", l->max_event);
    qt_log_add_problem(l, "too_large", message, text);
}

/* Resizes the buffer. Returns 0 when out of memory; the old buffer stays valid. */
static int resize(struct qt_log *l, size_t room)
{
    char *buffer = realloc(l->buffer, room);
    if (buffer == NULL)
        return 0;
    l->buffer = buffer;
    l->room = room;
    return 1;
}

/* Makes room for `want` unread bytes and more. Moves the unread bytes to the front and doubles the buffer if necessary.
 * If memory runs out, the current size becomes the maximum size of an event. */
static void make_room(struct qt_log *l, size_t want)
{
    if (l->begin > 0) {
        qt_log_count_lines(l);
        l->counted = 0;
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    size_t room = l->room;
    while (room < l->max_event && (room < want || l->end >= room - room / 8))
        room *= 2;
    if (room > l->max_event)
        room = l->max_event;
    if (room > l->room && !resize(l, room))
        l->max_event = l->room;
    if (l->room > KEPT_BUFFER && l->end < FIRST_BUFFER / 2 && want < FIRST_BUFFER)
        (void)resize(l, FIRST_BUFFER);
}

int qt_log_fill(struct qt_log *l, size_t want, struct qt_error *error)
{
    int code = QT_OK;
    make_room(l, want);
    if (l->following) {
        int before = l->at_end;
        code = fill_following(l, want, error);
        if (l->at_end && !before && l->was_truncated)
            qt_log_add_problem(l, "truncated_log",
                               "the log was truncated, and no copy of the log continues at the read position."
                               " The last bytes before the truncation may be missing.",
                               (struct qt_span){NULL, 0});
    }
    while (!l->following && code == QT_OK && !l->at_end && l->end - l->begin < want && l->end < l->room) {
        size_t got = 0;
        code = qt_input_read(l->input, l->buffer + l->end, l->room - l->end, &got, error);
        l->end += got;
        if (code == QT_EFORMAT) { /* damaged archive: its earlier bytes stay valid */
            qt_problems_add(&l->reader.problems, l->file, (int64_t)l->line, (int64_t)(l->offset + l->end - l->begin),
                            "damaged_archive", error->message, NULL, 0);
            l->at_end = 1;
            return QT_OK;
        }
        l->at_end |= code == QT_OK && got == 0;
        atomic_store_explicit(&l->reader.bytes_read, l->bytes_before + qt_input_stored_bytes(l->input),
                              memory_order_relaxed);
    }
    if (l->offset == 0 && l->end - l->begin >= 3 && memcmp(l->buffer + l->begin, "\xEF\xBB\xBF", 3) == 0)
        qt_log_consume(l, 3); /* byte order mark of Windows editors */
    return code;
}

static void add_no_event(struct qt_log *l)
{
    int is_foreign = atomic_load(&l->reader.not_understood) > l->passed_before;
    char message[96];
    snprintf(message, sizeof message, "expected %s, found no event in the file", l->what);
    qt_problems_add(&l->reader.problems, l->file, 1, 0, is_foreign ? "foreign_file" : "no_events", message, NULL, 0);
}

/* An incomplete event at the end of a file is dropped and does not continue in the next file. */
int qt_log_next_file(struct qt_log *l, struct qt_error *error)
{
    if (l->following && l->last_file) {
        l->following = 0;
        return 0;
    }
    if (l->input != NULL) {
        l->bytes_before += qt_input_stored_bytes(l->input);
        if (l->offset > 0 && l->file_events == 0)
            add_no_event(l);
        qt_input_close(l->input);
        l->input = NULL;
    }
    if (l->file + 1 >= l->inputs.n && l->follow == NULL)
        return 0;
    l->file++;
    if (l->following)
        qt_follow_take_next(l->follow);
    l->following = l->follow != NULL && l->file + 1 >= l->inputs.n;
    if (!l->following && (l->input = qt_inputs_take(&l->inputs, l->file, error)) == NULL)
        return -1;
    l->begin = l->end = l->counted = 0;
    l->offset = 0;
    l->line = 1;
    l->at_end = l->in_cut_line = 0;
    l->file_events = 0;
    l->passed_before = atomic_load(&l->reader.not_understood);
    atomic_store(&l->reader.file, l->file);
    return 1;
}

const char *qt_log_line_at(struct qt_log *l, size_t from, size_t *len, int *code, struct qt_error *error)
{
    size_t looked = from;
    for (;;) {
        size_t have = l->end - l->begin;
        const char *p = l->buffer + l->begin, *newline = have > looked ? memchr(p + looked, '\n', have - looked) : NULL;
        if (newline == NULL && !l->at_end && have < l->max_event) {
            looked = have > looked ? have : looked;
            *code = qt_log_fill(l, qt_log_more(l, have), error);
            if (*code != QT_OK)
                return NULL;
            continue;
        }
        if (have <= from)
            return NULL;
        *len = newline != NULL ? (size_t)(newline - p) - from : have - from;
        return p + from;
    }
}

int qt_log_line(struct qt_log *l, struct qt_span *line, size_t *used, int *code, struct qt_error *error)
{
    size_t len;
    const char *p;
    do {
        p = qt_log_line_at(l, 0, &len, code, error);
        if (p == NULL)
            return *code != QT_OK ? -1 : 0;
        *used = len < l->end - l->begin ? len + 1 : len;
        l->line_is_cut = *used == len && !l->at_end;
    } while (l->in_cut_line && (qt_log_consume_line(l, *used), 1));
    *line = (struct qt_span){p, len > 0 && p[len - 1] == '\r' ? len - 1 : len};
    return 1;
}

void qt_log_note_jump(struct qt_log *l, const struct qt_event_time *m)
{
    struct qt_jump *jump = qt_local_clock_note_jump(&l->local, m, l->reader.batch.rows);
    if (jump == NULL)
        return;
    jump->file = l->file;
    jump->line = (int64_t)qt_log_count_lines(l);
    jump->offset = (int64_t)l->offset;
}

int qt_log_must_close(const struct qt_log *l, const struct qt_event_time *m, size_t text)
{
    const struct qt_reader *r = &l->reader;
    const struct qt_event_batch *b = &r->batch;
    if (b->rows == 0)
        return 0;
    if (b->bytes + text > QT_LOG_MAX_BATCH)
        return 1;
    if (!qt_reader_batch_full(r))
        return 0;
    int same_second = m->stamp_kind == QT_STAMP_SECOND && b->event_times[b->rows - 1].when_ns == m->when_ns;
    return !same_second || b->rows >= r->part_rows * SPLIT || b->bytes >= r->part_bytes * SPLIT;
}

void qt_log_trim_sessions(struct qt_log *l)
{
    if (qt_sessions_trim(&l->sessions))
        qt_log_add_problem(
            l, "sessions_forgotten",
            "the log has more than 4 million thread ids at once, so the least recently used ids were forgotten",
            (struct qt_span){NULL, 0});
}

int64_t qt_log_find_session(struct qt_log *l, uint64_t key, uint32_t account, const char *command)
{
    int64_t at = qt_sessions_find(&l->sessions, key, atomic_load_explicit(&l->reader.events, memory_order_relaxed));
    if (at < 0)
        return at;
    struct qt_session_entry *e = &l->sessions.entries[at];
    int other = account != 0 && e->account != 0 && e->account != account && strcmp(command, "change_user") != 0;
    if (e->session == 0 || e->ended || other) {
        qt_sessions_begin(&l->sessions, e);
        atomic_store_explicit(&l->reader.sessions, (uint64_t)(l->sessions.next_session - 1), memory_order_relaxed);
    }
    if (account != 0)
        e->account = account;
    e->seq++;
    e->ended = strcmp(command, "quit") == 0;
    return at;
}

struct qt_session_mode qt_log_find_mode(const struct qt_log *l, uint64_t key, uint32_t account)
{
    const struct qt_session_entry *e = qt_sessions_look_up(&l->sessions, key);
    int other = e != NULL && account != 0 && e->account != 0 && e->account != account;
    return e == NULL || e->ended || other ? (struct qt_session_mode){0} : e->mode;
}

void qt_log_follow_mode(struct qt_log *l, int64_t entry, const struct qt_statement *s, struct qt_span text, int outcome)
{
    if (s->sets_mode)
        qt_session_mode_follow(l->normalizer, &l->sessions.entries[entry].mode, text.p, text.len, outcome);
}

int qt_log_end_batch(struct qt_log *l, int code)
{
    struct qt_event_batch *b = &l->reader.batch;
    if (code != QT_OK && code != QT_EAGAIN)
        return code;
    l->part_began_ns = 0;
    l->reader.due = 0;
    qt_timeline_assign_start_times(&l->timeline, &l->sessions, b->event_times, b->rows);
    qt_local_clock_report_jumps(&l->local, b->event_times, &l->reader.problems);
    qt_event_batch_take_times(b);
    return code;
}

/* Returns whether the log's user differs from the open session's user. Prepared statements are never added, because
 * logs contain executions as text. */
static int is_other_account(const struct qt_open_session *open, struct qt_span user)
{
    return user.p != NULL && (user.len != open->user.len || memcmp(user.p, open->user.p, user.len) != 0);
}

const struct qt_open_session *qt_log_add_carried(struct qt_log *l, int64_t at, struct qt_event_row *like,
                                                 const struct qt_event_time *time, int *code)
{
    struct qt_session_entry *e = &l->sessions.entries[at];
    if (e->seq != 1 || l->reader.open == NULL || like->thread_id < 0 || strcmp(like->command, "connect") == 0)
        return NULL;
    const struct qt_open_session *open = qt_open_sessions_find_thread(l->reader.open, like->thread_id);
    if (open == NULL || is_other_account(open, like->user))
        return NULL;
    struct qt_event_row first = *like;
    first.seq = 0;
    first.user = open->user;
    first.db = open->db;
    *code = qt_carried_rows_add(&l->reader, open, 0, &first, time);
    if (*code != QT_OK)
        return NULL;
    e->seq += first.seq;
    like->seq = e->seq;
    struct qt_session_fact fact = {
        .session = e->session,
        .thread_id = like->thread_id,
        .user = open->user,
        .db = open->db,
        .port = open->port > 0 ? open->port : -1,
        .client_flags = -1,
        .charset = open->charset,
        .open_at_start = 1,
        .open_at_end = -1,
        .encrypted = -1,
    };
    qt_session_facts_add(&l->reader.facts, &fact);
    return open;
}

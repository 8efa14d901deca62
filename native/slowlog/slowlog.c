/* SPDX-License-Identifier: Apache-2.0 */
/* files -> input.c -> buffer -> slowlog_grammar.c -> one event
 *                                                        |-> normalize.c: digest, class, redaction
 *                                                        |-> sessions.c: session and seq of its thread id
 *                                                        v
 *                                              columns of one batch + event_times --timeline.c--> start_ns --> Arrow
 *
 * A batch closes when the second changes, because logs with whole seconds get their start times second by second. A
 * batch also closes before a server restart. The reader then reads the event again for the next batch.
 *
 * Memory use: the buffer (the largest event, at least 512 KiB), the batches in reader.c and the entries in
 * sessions.c. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "reader/log.h"
#include "reader/log_text.h"
#include "slowlog/slowlog_context.h"
#include "slowlog/slowlog_grammar.h"
#include "slowlog/slowlog_header.h"
#include "sql/own_clock.h"

#define PRECISION_EXACT 1000

enum taken { TAKEN = 0, CLOSE_BATCH = 1, FAILED = 2 };

struct reading {
    struct qt_slow_event event;
    struct qt_statement statement;
    struct qt_span banner;
    size_t used;
    int has_statement;
    int cut;                /* the event exceeds the size limit */
    struct qt_span wrapped; /* following records that begin after other text on a line */
};

static void problem(struct qt_slowlog *s, const char *kind, const char *message, struct qt_span found)
{
    qt_log_add_problem(&s->log, kind, message, found);
}

static struct qt_span first_line(const struct qt_slowlog *s, size_t used)
{
    const char *p = s->log.buffer + s->log.begin;
    const char *newline = memchr(p, '\n', used);
    return (struct qt_span){p, newline != NULL ? (size_t)(newline - p) : used};
}

static int is_flush(const struct reading *r, const char *command)
{
    return (r->has_statement && r->statement.danger == QT_DANGER_FLUSH) || strcmp(command, "refresh") == 0;
}

/* ---- add one event to the batch ---- */

static struct qt_span schema_of(struct qt_slowlog *s, const struct qt_slow_event *e)
{
    struct qt_span none = {NULL, 0};
    if (e->schema.p != NULL)
        return e->schema;
    if (e->use.p != NULL)
        return e->use;
    return s->has_use ? (struct qt_span){s->use.p, s->use.len} : none;
}

/* Keeps the time, schema and sampling rate for the next events. Returns -1 when out of memory. */
static int carry(struct qt_slowlog *s, const struct reading *r)
{
    const struct qt_slow_event *e = &r->event;
    if (e->time.kind != QT_LOGTIME_BAD)
        s->time = e->time;
    qt_slow_note_zone(s, e);
    if (e->use.p != NULL) {
        s->use.len = 0;
        if (qt_bytes_add(&s->use, e->use.p, e->use.len) != 0)
            return -1;
        s->has_use = 1;
    }
    if (e->rate_limit > 1) {
        atomic_store(&s->rate_limit, (int32_t)e->rate_limit);
        atomic_store(&s->rate_by_query, e->rate_by_query);
    }
    if (e->start_ns >= 0)
        atomic_store_explicit(&s->has_extra, 1, memory_order_relaxed);
    return 0;
}

static void say_problems(struct qt_slowlog *s, const struct reading *r)
{
    const struct qt_slow_event *e = &r->event;
    struct qt_span line = first_line(s, r->used);
    struct qt_span body = e->body;
    if (r->has_statement && r->statement.redacted != NULL) /* problem messages must not show passwords */
        body = (struct qt_span){r->statement.redacted, r->statement.redacted_len};
    if (e->time_text.p != NULL && e->time.kind == QT_LOGTIME_BAD)
        problem(s, "bad_time", "expected a time such as 240610  8:13:20 or 2024-06-10T08:13:20.125123Z", e->time_text);
    if (e->query_ns == -2)
        problem(s, "bad_query_time", "expected a duration in seconds after Query_time:", line);
    if (qt_slow_has_bad_value(e))
        problem(s, "bad_value", "expected numbers and times after the keys of the header", line);
    if (r->cut)
        qt_log_add_cut_problem(&s->log, body.p != NULL ? body : line);
    else if (e->truncated)
        problem(s, "truncated_statement", "expected ; before the next event or the end of the file",
                body.p != NULL ? body : line);
    if (e->unbalanced)
        problem(s, "unbalanced_quote", "a literal or comment does not end inside the statement", body);
    if (e->ambiguous)
        problem(s, "ambiguous_boundary",
                "a line inside a literal looks like a log header, and was kept as part of the statement", body);
    if (e->thread_id < 0 && !s->said_no_thread) {
        s->said_no_thread = 1;
        problem(s, "no_thread_id", "events have no Id: or Thread_id:, so sessions are formed from user and host", line);
    }
}

static void add_flags(const struct reading *r, struct qt_session_entry *entry, struct qt_event_time *m)
{
    const struct qt_slow_event *e = &r->event;
    if (r->has_statement)
        m->flags |= r->statement.flags | (uint32_t)r->statement.danger << 16;
    m->flags |= e->truncated ? QT_F_TRUNCATED : 0;
    m->flags |= e->in_routine ? QT_F_ROUTINE : 0;
    m->flags |= e->killed > 0 ? QT_F_KILLED : 0;
    m->flags |= qt_is_system_user(e->user) ? QT_F_SYSTEM : 0;
    if (m->flags & QT_F_TIMESTAMP)
        entry->own_timestamp = 1;
    m->untrusted_clock = entry->own_timestamp;
    if ((m->flags & QT_F_TIMESTAMP) && qt_gives_clock_back(e->body))
        entry->own_timestamp = 0;
}

/* Handles a restart that a header announced and this event confirms. Returns 0 if the batch must end first. */
static int take_restart(struct qt_slowlog *s, enum qt_slow_restart restart)
{
    if (restart == QT_SLOW_UNDECIDED)
        return 1;
    if (restart == QT_SLOW_RESTARTED) {
        if (s->log.reader.batch.rows > 0)
            return 0;
        qt_sessions_restart(&s->log.sessions, s->header_at);
        atomic_fetch_add(&s->restarts, 1);
    }
    s->pending_restart = s->other_version = 0;
    return 1;
}

/* Makes the row of an event, without its command, statement and times. */
static struct qt_event_row row_of(struct qt_slowlog *s, const struct qt_slow_event *e,
                                  const struct qt_session_entry *entry)
{
    return (struct qt_event_row){
        .session = entry->session,
        .seq = entry->seq,
        .thread_id = e->thread_id,
        .request_ns = -1,
        .first_byte_ns = -1,
        .user = e->user,
        .host = e->host.len > 0 ? e->host : e->address,
        .db = schema_of(s, e),
        .stmt = -1,
        .insert_id = e->insert_id,
        .last_insert_id = e->last_insert_id,
        .file = s->log.file,
        .offset = (int64_t)s->log.offset,
        .rows_sent = e->rows_sent,
        .rows_examined = e->rows_examined,
        .rows_affected = e->rows_affected,
        .bytes_sent = e->bytes_sent,
        .lock_ns = e->lock_ns,
        .warnings = e->warnings,
        .errno_ = e->errno_,
    };
}

static enum taken take_event(struct qt_slowlog *s, const struct reading *r, struct qt_error *error)
{
    const struct qt_slow_event *e = &r->event;
    const char *command = e->is_admin ? qt_find_command(e->body) : "query";
    uint32_t account = qt_slow_account_of(e);
    uint64_t key = qt_slow_key_of(e);
    struct qt_event_time m = {.duration_ns = e->query_ns >= 0 ? e->query_ns : -1};
    qt_slow_stamp_event(s, e, &m);
    if (qt_log_must_close(&s->log, &m, e->body.len))
        return CLOSE_BATCH;
    if (s->pending_restart && strcmp(command, "change_user") != 0 &&
        !take_restart(s, qt_slow_find_restart(s, is_flush(r, command), e->thread_id, key, account)))
        return CLOSE_BATCH;
    int64_t at = qt_log_find_session(&s->log, key, account, command);
    if (at < 0)
        goto no_memory;
    struct qt_session_entry *entry = &s->log.sessions.entries[at];
    m.entry = (uint32_t)at;
    add_flags(r, entry, &m);
    struct qt_event_row row = row_of(s, e, entry);
    row.command = command;
    if (e->is_admin && strcmp(command, "fetch") != 0) /* the server repeats the counts of the previous statement */
        row.rows_sent = row.rows_examined = row.rows_affected = -1;
    row.precision_ns = m.stamp_kind == QT_STAMP_SECOND ? QT_SECOND : PRECISION_EXACT;
    int code = QT_OK;
    (void)qt_log_add_carried(&s->log, at, &row, &m, &code);
    if (code != QT_OK)
        goto no_memory;
    if (r->has_statement)
        qt_event_set_statement(&row, e->body, &r->statement);
    qt_log_note_jump(&s->log, &m);
    if (qt_event_batch_add(&s->log.reader.batch, &row, &m) != 0)
        goto no_memory;
    if (r->has_statement) /* other statements of the session may have been too fast for the log */
        qt_log_follow_mode(&s->log, at, &r->statement, e->body, e->errno_ > 0 ? -1 : 0);
    say_problems(s, r);
    qt_log_add_wrapped(&s->log, r->wrapped);
    if (carry(s, r) != 0)
        goto no_memory;
    s->after_flush = is_flush(r, command);
    s->log.file_events++;
    atomic_fetch_add_explicit(&s->log.reader.events, 1, memory_order_relaxed);
    return TAKEN;
no_memory:
    qt_fail(error, QT_ENOMEM, "out of memory at byte %llu of file %d", (unsigned long long)s->log.offset,
            (int)s->log.file);
    return FAILED;
}

/* ---- read the input, event by event ---- */

static void server_header(struct qt_slowlog *s, struct qt_span banner)
{
    static const char mark[] = ", Version: ";
    if (banner.p == NULL)
        return;
    for (size_t i = 0; i + sizeof mark - 1 < banner.len; i++)
        if (memcmp(banner.p + i, mark, sizeof mark - 1) == 0) {
            const char *version = banner.p + i + sizeof mark - 1;
            size_t len = banner.len - i - (sizeof mark - 1);
            const char *tail = len > 15 ? version + len - 15 : version; /* text after the version: `. started with:` */
            len = len > 15 && tail[0] == '.' ? len - 15 : len;
            len = len < sizeof s->log.reader.server_version ? len : sizeof s->log.reader.server_version - 1;
            struct qt_span found = {version, len};
            s->other_version |= s->log.reader.server_version[0] != '\0' &&
                                !qt_span_is(found, s->log.reader.server_version);
            qt_reader_set_version(&s->log.reader, found);
            break;
        }
    s->header_at = atomic_load_explicit(&s->log.reader.events, memory_order_relaxed);
    s->pending_restart = s->header_at > 0;
    s->other_version &= s->pending_restart;
    s->has_use = 0;
    s->use.len = 0;
}

/* Parses the item at `begin` from the bytes read so far. */
static enum qt_slow_result parse_item(struct qt_slowlog *s, struct reading *r, enum qt_slow_quotes quotes, int full)
{
    const char *p = s->log.buffer + s->log.begin;
    size_t have = s->log.end - s->log.begin;
    enum qt_slow_result what = QT_SLOW_MORE;
    if (have > 0)
        what = qt_slow_parse(p, have, s->log.at_end, s->header_known, quotes, &r->event, &r->banner, &r->used);
    r->cut = full && what == QT_SLOW_MORE;
    if (r->cut) /* treat the end of the buffer as the end of the event */
        what = qt_slow_parse(p, have, 1, s->header_known, quotes, &r->event, &r->banner, &r->used);
    r->cut &= what == QT_SLOW_EVENT && r->used == have;
    r->event.truncated |= r->cut;
    return what;
}

/* Normalizes the body of an event that ends at `used`. `first_end` is the first possible end, or 0. Returns EVENT if
 * the end is right, GARBAGE if a quote is open at this end, MORE if more input is needed. */
static enum qt_slow_result judge_end(struct qt_slowlog *s, struct reading *r, size_t first_end, int full,
                                     struct qt_error *error, int *code)
{
    struct qt_slow_event *e = &r->event;
    struct qt_session_mode mode = qt_log_find_mode(&s->log, qt_slow_key_of(e), qt_slow_account_of(e));
    *code = qt_normalize(s->log.normalizer, &mode, e->body.p, e->body.len, &r->statement, error);
    if (*code || e->truncated || e->unbalanced || (first_end > 0 ? !e->ambiguous : r->statement.open_quote == 0))
        return QT_SLOW_EVENT;
    size_t from = first_end > 0 ? first_end : r->used;
    enum qt_slow_result later = qt_slow_find_later(s, e, from, first_end > 0 ? r->used : from + 1);
    if (later == QT_SLOW_MORE && !s->log.at_end && !full)
        return QT_SLOW_MORE;
    e->unbalanced = later == QT_SLOW_EVENT;
    return e->unbalanced || first_end > 0 ? QT_SLOW_EVENT : QT_SLOW_GARBAGE;
}

/* Ends a body before a wrapped log record inside it. */
static enum qt_slow_result without_wrapped(struct qt_slowlog *s, struct reading *r, struct qt_error *error, int *code)
{
    struct qt_slow_event *e = &r->event;
    struct qt_session_mode mode = qt_log_find_mode(&s->log, qt_slow_key_of(e), qt_slow_account_of(e));
    struct qt_span text = e->body;
    const char *line = qt_find_wrapped_header(text.p, text.len);
    r->wrapped = qt_log_cut_wrapped(&s->log, mode, line, r->used, &text, &r->statement, code, error);
    if (r->wrapped.len > 0) {
        r->cut = 0;
        e->truncated = text.len == 0 || text.p[text.len - 1] != ';';
        e->body = (struct qt_span){text.p, text.len - !e->truncated};
        if (!e->truncated)
            *code = qt_normalize(s->log.normalizer, &mode, e->body.p, e->body.len, &r->statement, error);
    }
    return *code ? QT_SLOW_MORE : QT_SLOW_EVENT;
}

/* Handles a quote that never closes: ends the event at its first possible end. */
static enum qt_slow_result end_at_first(struct qt_slowlog *s, struct reading *r, struct qt_error *error, int *code)
{
    enum qt_slow_result what = parse_item(s, r, QT_QUOTES_BROKEN, 0);
    struct qt_session_mode mode = qt_log_find_mode(&s->log, qt_slow_key_of(&r->event), qt_slow_account_of(&r->event));
    *code = qt_normalize(s->log.normalizer, &mode, r->event.body.p, r->event.body.len, &r->statement, error);
    r->event.unbalanced = 1;
    return *code ? QT_SLOW_MORE : what;
}

/* Parses the item at `begin`. Reads more input if needed. */
static enum qt_slow_result next_item(struct qt_slowlog *s, struct reading *r, struct qt_error *error, int *code)
{
    size_t first_end = 0; /* first possible end of a body with an open quote */
    for (;;) {
        size_t have = s->log.end - s->log.begin;
        int full = qt_log_is_full(&s->log);
        enum qt_slow_result what = parse_item(s, r, first_end > 0 ? QT_QUOTES_FOLLOWED : QT_QUOTES_TRUSTED, full);
        r->has_statement = what == QT_SLOW_EVENT && !r->event.is_admin && r->event.body.p != NULL;
        r->wrapped = (struct qt_span){NULL, 0};
        if (r->has_statement) {
            enum qt_slow_result end = judge_end(s, r, first_end, full, error, code);
            if (*code)
                return QT_SLOW_MORE;
            if (end == QT_SLOW_EVENT && r->event.unbalanced && first_end > 0 && r->used != first_end)
                return end_at_first(s, r, error, code);
            if (end == QT_SLOW_EVENT)
                return without_wrapped(s, r, error, code);
            first_end = end == QT_SLOW_GARBAGE ? r->used : first_end;
            if (end == QT_SLOW_GARBAGE)
                continue;
        } else if (what != QT_SLOW_MORE) {
            return what;
        } else if (s->log.at_end || full) {
            r->used = have;
            return have == 0 ? QT_SLOW_MORE : QT_SLOW_GARBAGE;
        }
        *code = qt_log_fill(&s->log, qt_log_more(&s->log, have), error);
        if (*code)
            return QT_SLOW_MORE;
    }
}

static void skip_garbage(struct qt_slowlog *s, const struct reading *r)
{
    if (!s->skipping)
        qt_log_add_bad_record(&s->log, s->log.file_events == 0 ? "starts_inside_event" : "not_understood",
                              "expected a header line such as # User@Host: or # Time:, followed by # Query_time:",
                              first_line(s, r->used));
    s->skipping = 1;
}

static int next_file(struct qt_slowlog *s, struct qt_error *error)
{
    int more = qt_log_next_file(&s->log, error);
    if (more > 0)
        s->header_known = s->skipping = 0;
    if (more > 0 && !s->log.was_truncated) { /* after a truncation the same server continues its log */
        s->use.len = 0;
        s->has_use = 0;
    }
    return more;
}

/* Reads events into the batch until the batch is full or the input ends. */
static int read_events(struct qt_slowlog *s, struct qt_error *error)
{
    struct reading r;
    if (s->log.reader.batch.rows == 0)
        qt_log_trim_sessions(&s->log);
    while (!atomic_load_explicit(&s->log.reader.stopped, memory_order_relaxed)) {
        int code = QT_OK;
        if (!qt_log_is_open(&s->log))
            return QT_OK;
        enum qt_slow_result what = next_item(s, &r, error, &code);
        if (code)
            return code;
        if (what == QT_SLOW_MORE) {
            int more = next_file(s, error);
            if (more < 0)
                return error != NULL ? error->code : QT_EIO;
            continue;
        }
        if (what == QT_SLOW_EVENT) {
            enum taken taken = take_event(s, &r, error);
            if (taken != TAKEN)
                return taken == CLOSE_BATCH ? QT_OK : QT_ENOMEM;
        } else if (what == QT_SLOW_GARBAGE) {
            skip_garbage(s, &r);
            qt_reader_add_not_understood(&s->log.reader, r.used);
        } else {
            server_header(s, r.banner);
        }
        /* A truncated event is already reported. A file of another kind is reported once. A blank line counts as part
         * of the lines before it. */
        int is_blank = what == QT_SLOW_SKIP && r.banner.p == NULL;
        s->skipping = what == QT_SLOW_GARBAGE || r.cut || (s->skipping && (is_blank || s->log.file_events == 0));
        s->header_known = what == QT_SLOW_EVENT && r.event.header_follows;
        qt_log_consume(&s->log, r.used);
    }
    return QT_OK;
}

/* Finds the time of the first event with a time. Afterwards the log must not be read further. */
static int peek_time(struct qt_slowlog *s, int64_t *out_ns, struct qt_error *error)
{
    struct reading r;
    for (uint64_t bytes = 0; bytes < ((uint64_t)16 << 20);) {
        int code = QT_OK;
        enum qt_slow_result what = next_item(s, &r, error, &code);
        if (code)
            return code;
        if (what == QT_SLOW_MORE)
            break;
        if (what == QT_SLOW_EVENT) {
            struct qt_event_time m = {0};
            qt_slow_stamp_event(s, &r.event, &m);
            *out_ns = m.when_ns;
            if (!(m.flags & QT_F_CLOCK_GUESSED))
                return QT_OK;
        }
        s->header_known = what == QT_SLOW_EVENT && r.event.header_follows;
        bytes += r.used;
        qt_log_consume(&s->log, r.used);
    }
    return qt_fail(error, QT_EFORMAT, "%s: expected a slow log, found no event with a time", s->log.inputs.paths[0]);
}

/* ---- open and close the reader ---- */

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    return qt_log_end_batch(&s->log, read_events(s, error));
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    int64_t zone;
    qt_reader_describe_version(&s->log.reader, json);
    if (qt_slow_find_zone(s, &zone))
        qt_json_int(json, "timezone_ns", zone);
    qt_json_int(json, "restarts", (int64_t)atomic_load(&s->restarts));
    qt_json_int(json, "rate_limit", atomic_load(&s->rate_limit));
    qt_json_int(json, "rate_by_query", atomic_load(&s->rate_by_query));
    qt_json_int(json, "has_extra", atomic_load(&s->has_extra));
}

static void close_log(struct qt_reader *reader)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    qt_bytes_free(&s->use);
    qt_log_close(&s->log);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_log, NULL};

struct qt_reader *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                  struct qt_error *error)
{
    struct qt_slowlog *s = qt_log_open(sizeof *s, &kind, "a MySQL or MariaDB slow log", paths, n_paths, options, error);
    return s != NULL ? &s->log.reader : NULL;
}

int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *error)
{
    struct qt_log_options options = {0};
    struct qt_reader *reader = qt_slowlog_open(&path, 1, &options, error);
    if (reader == NULL)
        return error != NULL ? error->code : QT_EIO;
    int code = peek_time((struct qt_slowlog *)reader, out_ns, error);
    qt_reader_close(reader);
    return code;
}

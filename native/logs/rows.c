/* SPDX-License-Identifier: Apache-2.0 */
/* Builds events from rows that another reader has parsed (DuckDB: CSV, JSON). Sessions, digests, classes, redaction,
 * times and order are handled as for every source. Columns, with 64-bit offsets:
 *
 *   when BIGINT                              ns; NULL: a line that cannot be parsed, reported with `statement`
 *   stamp BIGINT                             meaning of `when`: 0 the second of the event's end, 1 its end,
 *                                            2 its start; NULL if `when` is NULL: a row without an event
 *   precision_ns, duration_ns, thread_id     BIGINT
 *   command, user, host, db VARCHAR          statement BLOB
 *   stmt, errno, rows_sent, rows_examined, rows_affected, bytes_sent, lock_ns, flags, place BIGINT (line)
 *   error VARCHAR
 *   bound BLOB                               an execution's values, as read by logs/proxysql_params.c
 *   file BIGINT                              index of the row's file, from 0
 *   unread VARCHAR                           texts that could not be converted to their column, each
 *                                            column \x1f name in the input \x1f text \x1e */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arrow_stream.h"
#include "base/error.h"
#include "logs/proxysql_params.h"
#include "reader/log.h"
#include "reader/log_text.h"

/* Same order as the columns. */
enum {
    WHEN,
    STAMP,
    PRECISION,
    DURATION,
    THREAD,
    COMMAND,
    USER,
    HOST,
    DB,
    STATEMENT,
    STMT,
    ERRNO,
    ROWS_SENT,
    ROWS_EXAMINED,
    ROWS_AFFECTED,
    BYTES_SENT,
    LOCK,
    FLAGS,
    PLACE,
    ERROR_TEXT,
    BOUND,
    FILE_INDEX,
    UNREAD
};
enum { MAX_BACKS = 4 };
static const char formats[] = "lllllUUUUZlllllllllUZlU";

/* Columns that may be unreadable, with their names for problem messages. */
static const struct {
    const char *column, *kind, *message;
} readable[] = {
    {"when_ns", "unread_time", "expected a time"},
    {"duration_ns", "unread_duration", "expected a duration (a number or HH:MM:SS.ffffff)"},
    {"lock_ns", "unread_lock", "expected a duration (a number or HH:MM:SS.ffffff)"},
    {"thread_id", "unread_thread_id", "expected a number"},
    {"stmt", "unread_stmt", "expected a number"},
    {"errno", "unread_errno", "expected a number"},
    {"rows_sent", "unread_rows_sent", "expected a number"},
    {"rows_examined", "unread_rows_examined", "expected a number"},
    {"rows_affected", "unread_rows_affected", "expected a number"},
    {"bytes_sent", "unread_bytes_sent", "expected a number"},
    {"flags", "unread_flags", "expected a number"},
};

struct qt_row_source {
    struct qt_log log;
    struct ArrowArrayStream stream; /* owned after qt_rows_source_open */
    struct qt_rows rows;
    int opened, ended;
    int64_t at;            /* current row of the batch */
    struct qt_bytes bound; /* values of the current execution */
    uint64_t backs;        /* number of rows with a local time before the previous row's time */
    struct {
        int64_t file, place;
        char when[32];
    } back[MAX_BACKS]; /* the first rows that go back in time */
};

static struct qt_span text(const struct qt_row_source *s, int column)
{
    struct qt_span out;
    out.p = qt_read_bytes(&s->rows, column, s->at, &out.len);
    return out;
}

static int64_t number(const struct qt_row_source *s, int column)
{
    return qt_read_null(&s->rows, column, s->at) ? -1 : qt_read_i64(&s->rows, column, s->at);
}

static int64_t file_of(const struct qt_row_source *s)
{
    int64_t file = number(s, FILE_INDEX);
    return file > 0 ? file : 0;
}

static int64_t place_of(const struct qt_row_source *s)
{
    int64_t place = number(s, PLACE);
    return place > 0 ? place : 0;
}

static void not_understood(struct qt_row_source *s)
{
    struct qt_span found = text(s, STATEMENT);
    qt_reader_add_not_understood(&s->log.reader, found.len);
    found = qt_problem_excerpt(s->log.normalizer, found);
    qt_problems_add(&s->log.reader.problems, file_of(s), place_of(s), 0, "not_understood", "expected a row with a time",
                    found.p, found.len);
}

/* Returns the text before `end`, and moves `rest` past that text and `end`. If `end` is missing, returns all of
 * `rest`. */
static struct qt_span cut_off(struct qt_span *rest, char end)
{
    const char *at = rest->len > 0 ? memchr(rest->p, end, rest->len) : NULL;
    struct qt_span part = {rest->p, at != NULL ? (size_t)(at - rest->p) : rest->len};
    size_t used = part.len + (at != NULL);
    rest->p += used;
    rest->len -= used;
    return part;
}

static void note_back(struct qt_row_source *s, struct qt_span when)
{
    if (s->backs < MAX_BACKS) {
        s->back[s->backs].file = file_of(s);
        s->back[s->backs].place = place_of(s);
        snprintf(s->back[s->backs].when, sizeof s->back->when, "%.*s", when.len < 31 ? (int)when.len : 31, when.p);
    }
    s->backs++;
}

/* Reports rows that go back in time. Unsorted files have many such rows. A clock that was set back causes few. */
static void say_backs(struct qt_row_source *s)
{
    uint64_t rows = atomic_load_explicit(&s->log.reader.events, memory_order_relaxed);
    for (uint64_t i = 0; s->backs <= MAX_BACKS && s->backs * 3 < rows && i < s->backs; i++) {
        char message[160];
        snprintf(message, sizeof message,
                 "the local time goes back to %s: daylight saving time ended, or the clock was set back. Export the"
                 " times in UTC.",
                 s->back[i].when);
        qt_problems_add(&s->log.reader.problems, s->back[i].file, s->back[i].place, 0, "ambiguous_time", message, NULL,
                        0);
    }
    s->backs = 0;
}

static void say_unread(struct qt_row_source *s)
{
    struct qt_span all = text(s, UNREAD);
    while (all.len > 0) {
        char message[160];
        struct qt_span found = cut_off(&all, '\x1e'), column = cut_off(&found, '\x1f'), name = cut_off(&found, '\x1f');
        size_t i = 0, n = sizeof readable / sizeof *readable;
        if (qt_span_is(column, "back"))
            note_back(s, found);
        while (i < n && !qt_span_is(column, readable[i].column))
            i++;
        if (i == n)
            continue;
        found = qt_problem_excerpt(s->log.normalizer, found);
        snprintf(message, sizeof message, "%s in column %.*s", readable[i].message, name.len < 80 ? (int)name.len : 80,
                 name.p);
        qt_problems_add(&s->log.reader.problems, file_of(s), place_of(s), 0, readable[i].kind, message, found.p,
                        found.len);
    }
}

static uint64_t key_of(const struct qt_row_source *s, int64_t thread)
{
    return thread >= 0 ? (uint64_t)thread : QT_LOG_NO_THREAD | qt_hash_spans(text(s, USER), text(s, HOST)) >> 1;
}

/* Returns the tape's name of a command, or `other` if the name is unknown. */
static const char *command_of(struct qt_span name)
{
    static const char *const names[] = {
        "query",      "execute",    "prepare", "connect",          "quit",       "init_db",   "ping", "change_user",
        "close_stmt", "reset_stmt", "fetch",   "reset_connection", "statistics", "field_list"};
    if (name.p == NULL)
        return "query";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (qt_span_is(name, names[i]))
            return names[i];
    return qt_find_command(name);
}

static void fill(const struct qt_row_source *s, struct qt_event_row *e)
{
    e->user = text(s, USER);
    e->host = text(s, HOST);
    e->db = text(s, DB);
    e->stmt = number(s, STMT);
    e->errno_ = number(s, ERRNO);
    e->rows_sent = number(s, ROWS_SENT);
    e->rows_examined = number(s, ROWS_EXAMINED);
    e->rows_affected = number(s, ROWS_AFFECTED);
    e->bytes_sent = number(s, BYTES_SENT);
    e->lock_ns = number(s, LOCK);
    e->error = text(s, ERROR_TEXT);
    e->file = file_of(s);
    e->offset = place_of(s);
    e->precision_ns = number(s, PRECISION) > 0 ? number(s, PRECISION) : QT_SECOND;
}

/* Sets the statement id of an execution and its values, if the row has them. An execution with values can be replayed.
 * Returns 0, or -1 when out of memory. */
static int set_bound(struct qt_row_source *s, struct qt_event_row *e)
{
    uint64_t count = 0;
    struct qt_span block = text(s, BOUND);
    if (strcmp(e->command, "execute") != 0) {
        e->stmt = e->flags & QT_F_REDACTED ? -1 : e->stmt;
        return 0;
    }
    int64_t stmt = e->stmt;
    e->stmt = -1;
    if (block.p == NULL || (e->flags & QT_F_REDACTED))
        return 0;
    s->bound.len = 0;
    int known = qt_proxysql_params(block, &s->bound, &count);
    if (known > 0 && count > 0) {
        e->stmt = stmt;
        e->params = (struct qt_span){s->bound.p, s->bound.len};
        e->flags &= ~QT_F_PLACEHOLDER;
    }
    return known < 0 ? -1 : 0;
}

/* Returns 0 if the row was taken, 1 if the batch must be closed first, -1 when out of memory. */
static int take(struct qt_row_source *s, struct qt_error *error)
{
    struct qt_event_row e = qt_event_unknown;
    struct qt_statement what;
    struct qt_event_time m = {
        .when_ns = number(s, WHEN), .stamp_kind = (uint8_t)(number(s, STAMP) & 3), .duration_ns = number(s, DURATION)};
    struct qt_span statement = text(s, STATEMENT);
    if (qt_log_must_close(&s->log, &m, statement.len))
        return 1;
    e.command = command_of(text(s, COMMAND));
    e.thread_id = number(s, THREAD);
    uint64_t key = key_of(s, e.thread_id);
    if (strcmp(e.command, "connect") == 0) {
        int64_t old = qt_sessions_find(&s->log.sessions, key, s->log.reader.events);
        if (old < 0)
            return -1;
        s->log.sessions.entries[old].ended = 1;
    }
    int64_t at = qt_log_find_session(&s->log, key, 0, e.command);
    if (at < 0)
        return -1;
    m.entry = (uint32_t)at;
    e.session = s->log.sessions.entries[at].session;
    e.seq = s->log.sessions.entries[at].seq;
    fill(s, &e);
    if (statement.p != NULL) {
        struct qt_session_mode mode = s->log.sessions.entries[at].mode;
        if (qt_normalize(s->log.normalizer, &mode, statement.p, statement.len, &what, error) != QT_OK)
            return -1;
        qt_event_set_statement(&e, statement, &what);
        if (strcmp(e.command, "prepare") != 0) /* a filtered log may lack other statements of the session */
            qt_log_follow_mode(&s->log, at, &what, statement, e.errno_ > 0 ? -1 : 0);
    }
    if (set_bound(s, &e) != 0)
        return -1;
    int64_t flags = number(s, FLAGS);
    m.flags |= e.flags | (flags > 0 ? (uint32_t)flags : 0) | (qt_is_system_user(e.user) ? QT_F_SYSTEM : 0);
    if (qt_event_batch_add(&s->log.reader.batch, &e, &m) != 0)
        return -1;
    atomic_fetch_add_explicit(&s->log.reader.events, 1, memory_order_relaxed);
    say_unread(s);
    return 0;
}

static int next_rows(struct qt_row_source *s, struct qt_error *error)
{
    int code = QT_OK;
    if (!s->opened) {
        code = qt_rows_open(&s->rows, &s->stream, formats, error);
        s->opened = code == QT_OK;
    }
    if (code == QT_OK)
        code = qt_rows_next(&s->rows, error);
    s->at = 0;
    s->ended = code != QT_OK || s->rows.rows == 0;
    return code;
}

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_row_source *s = (struct qt_row_source *)reader;
    while (!atomic_load_explicit(&reader->stopped, memory_order_relaxed) && !s->ended) {
        if (!s->opened || s->at >= s->rows.rows) {
            int code = next_rows(s, error);
            if (code != QT_OK)
                return code;
            continue;
        }
        size_t len;
        if (qt_read_null(&s->rows, WHEN, s->at)) {
            if (!qt_read_null(&s->rows, STAMP, s->at))
                not_understood(s);
        } else {
            int taken = take(s, error);
            if (taken < 0)
                return qt_fail(error, QT_ENOMEM, "out of memory");
            if (taken > 0)
                break;
        }
        (void)qt_read_bytes(&s->rows, STATEMENT, s->at, &len);
        atomic_fetch_add_explicit(&reader->bytes_parsed, len, memory_order_relaxed);
        atomic_store_explicit(&reader->bytes_read, reader->bytes_parsed, memory_order_relaxed);
        s->at++;
    }
    if (s->ended)
        say_backs(s);
    return qt_log_end_batch(&s->log, QT_OK);
}

static void close_rows(struct qt_reader *reader)
{
    struct qt_row_source *s = (struct qt_row_source *)reader;
    if (s->opened)
        qt_rows_close(&s->rows);
    if (s->stream.release != NULL)
        s->stream.release(&s->stream);
    qt_bytes_free(&s->bound);
    qt_log_close(&s->log);
}

static const struct qt_reader_kind kind = {read_batch, NULL, close_rows, NULL};

struct qt_reader *qt_rows_source_open(struct ArrowArrayStream *in, struct qt_error *error)
{
    struct qt_log_options options = {0};
    struct qt_row_source *s = qt_log_open(sizeof *s, &kind, "rows", NULL, 0, &options, error);
    if (s == NULL)
        return NULL;
    s->stream = *in;
    in->release = NULL;
    return &s->log.reader;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* lines -> rows (general_row.c) -> a statement continues until the next row -> events
 *
 * A row's time is the time when the command arrived. The general log has no durations, row counts or errors. The reader
 * assumes that USE, SET, Init DB and Change user succeed.
 *
 * MariaDB writes rows without a time after FLUSH LOGS. If a file begins with rows without a time, they get the time of
 * the first row that has a time. A Connect row always begins a session, so reused thread ids cause no ambiguity.
 * general_sessions.c counts the server starts. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "logs/general_row.h"
#include "logs/general_sessions.h"
#include "reader/log.h"
#include "reader/log_text.h"
#include "reader/log_time.h"

#define LITERAL_REACH ((size_t)256 << 10) /* bytes that an open literal is followed across apparent rows */
#define TIME_REACH ((size_t)1 << 20)      /* bytes that are searched for the first time stamp in a file */
#define FOREIGN_INSIDE 16                 /* up to this number all dated lines are checked, then only some */

struct qt_general {
    struct qt_log log;
    enum qt_general_style style;
    struct qt_logtime time; /* time of the last row with a time */
    struct qt_general_states states;
    struct qt_general_starts starts;
    int skipping;
    int looked_ahead; /* the search for the first time stamp of this file is done */
    /* The next row, which ended the current row. Its first line is already parsed. */
    struct qt_general_row ahead; /* next row; its argument begins `ahead_argument` bytes into its line */
    size_t ahead_argument, ahead_len;
    uint64_t ahead_at; /* file offset of the line of `ahead`; UINT64_MAX: none */
};

/* One row: its first line and, for a statement, the lines up to the next row. */
struct row {
    struct qt_general_row head;
    struct qt_span text; /* argument, including its continuation lines */
    struct qt_statement statement;
    int has_statement, unbalanced, ambiguous, cut;
    int torn;               /* contains another program's line; the text after that line may belong to the statement */
    struct qt_span wrapped; /* following records that begin after other text on a line */
    size_t used;
};

static int banner_ends(const char *p, size_t n)
{
    static const char mark[] = "started with:";
    while (n > 0 && (p[n - 1] == '\r' || p[n - 1] == ' '))
        n--;
    return n >= sizeof mark && memcmp(p + n - (sizeof mark - 1), mark, sizeof mark - 1) == 0 &&
           memmem(p, n, ", Version: ", 11) != NULL;
}

/* Decides about a row that seems to begin inside an open quote. Returns 1 if the server wrote the row, which means that
 * the quote never closes. Otherwise a client may have copied the row from a log. A copied row is older than the
 * statement.
 *
 * `old` is set if the previous row inside the quote is such a copy. */
static int is_servers_own(const struct qt_general *g, const struct row *open, const struct qt_general_row *row,
                          int *old)
{
    struct qt_logtime now = open->head.time.kind != QT_LOGTIME_BAD ? open->head.time : g->time;
    if (row->time.kind != QT_LOGTIME_BAD) /* the server writes a local time only when the second changes */
        *old = row->time.kind != now.kind || row->time.ns < now.ns ||
               (now.kind == QT_LOGTIME_LOCAL && row->time.ns == now.ns);
    if (*old)
        return 0;
    const struct qt_session_entry *entry = qt_sessions_look_up(&g->log.sessions, (uint64_t)row->thread_id);
    return row->thread_id == open->head.thread_id || (entry != NULL && !entry->ended) ||
           strcmp(row->command->tape, "connect") == 0;
}

/* Another program's line begins at `at`. Sets `torn` if unknown text follows that line before the next row. The buffer
 * may move. */
static int is_torn(struct qt_general *g, size_t at, int *torn, struct qt_error *error)
{
    struct qt_general_row row;
    size_t len;
    int code = QT_OK;
    *torn = 0;
    for (;;) {
        const char *p = qt_log_line_at(&g->log, at, &len, &code, error);
        if (p == NULL || qt_general_parse_row(p, len, g->style, &row) || banner_ends(p, len))
            return code;
        if ((len > 1 || (len == 1 && *p != '\r')) && !qt_is_foreign_line(p, len)) {
            *torn = 1;
            return code;
        }
        at += len + 1;
    }
}

/* Sets the row's text to the bytes from `argument` to the end of the line before `end`. */
static void set_text(const struct qt_general *g, struct row *r, size_t argument, size_t end)
{
    const char *base = g->log.buffer + g->log.begin;
    end -= end > argument && base[end - 1] == '\n';
    r->text = (struct qt_span){base + argument, end > argument ? end - argument : 0};
    if (r->text.len > 0 && r->text.p[r->text.len - 1] == '\r')
        r->text.len--;
}

/* Finds the end of the statement in the row at `begin`. Sets `used` to the offset after its last newline. */
static int read_text(struct qt_general *g, struct row *r, size_t first_line, struct qt_error *error)
{
    struct qt_general_row next;
    struct qt_session_mode mode = qt_log_find_mode(&g->log, (uint64_t)r->head.thread_id, 0);
    size_t at = first_line, argument = (size_t)(r->head.argument.p - (g->log.buffer + g->log.begin)), len,
           first_end = 0, looked = 0;
    int code = QT_OK, old = 0, inside = 0;
    for (;;) {
        const char *p = qt_log_line_at(&g->log, at, &len, &code, error);
        if (code != QT_OK)
            return code;
        int is_row = p != NULL && qt_general_parse_row(p, len, g->style, &next);
        int full = p == NULL && qt_log_is_full(&g->log), boundary = p == NULL || is_row || banner_ends(p, len);
        int foreign = !boundary && (inside < FOREIGN_INSIDE || at > 2 * looked) && qt_is_foreign_line(p, len);
        if (!boundary && !foreign) {
            at += len + (at + len < g->log.end - g->log.begin ? 1 : 0);
            continue;
        }
        if (foreign && (code = is_torn(g, at, &r->torn, error)) != QT_OK)
            return code;
        set_text(g, r, argument, at);
        r->used = at;
        r->cut = full;
        g->ahead_at = UINT64_MAX;
        if (is_row && !qt_log_is_full(&g->log)) { /* in a full buffer the row's line may be incomplete */
            g->ahead_at = g->log.offset + at;
            g->ahead = next;
            g->ahead_len = len;
            g->ahead_argument = (size_t)(next.argument.p - p);
        }
        code = qt_normalize(g->log.normalizer, &mode, r->text.p, r->text.len, &r->statement, error);
        r->has_statement = 1;
        r->ambiguous = first_end > 0;
        if (code != QT_OK || r->statement.open_quote == 0 || full)
            return code;
        if (foreign) { /* the line is part of the literal */
            r->torn = 0;
            inside++;
            looked = at;
        } else if (first_end == 0) {
            first_end = at;
        }
        if (!foreign &&
            (p == NULL || at - first_end > LITERAL_REACH || (is_row && is_servers_own(g, r, &next, &old)))) {
            /* The quote never closes, so the first row inside the quote is a real row. */
            set_text(g, r, argument, first_end);
            r->used = first_end;
            r->unbalanced = 1;
            r->ambiguous = 0;
            g->ahead_at = UINT64_MAX;
            return qt_normalize(g->log.normalizer, &mode, r->text.p, r->text.len, &r->statement, error);
        }
        at += len + (at + len < g->log.end - g->log.begin ? 1 : 0);
    }
}

/* Like read_text, but ends the text where a wrapped row begins. */
static int read_sql(struct qt_general *g, struct row *r, size_t first_line, struct qt_error *error)
{
    int code = read_text(g, r, first_line, error);
    if (code != QT_OK)
        return code;
    struct qt_session_mode mode = qt_log_find_mode(&g->log, (uint64_t)r->head.thread_id, 0);
    const char *line = qt_find_wrapped_row(r->text.p, r->text.len);
    r->wrapped = qt_log_cut_wrapped(&g->log, mode, line, r->used, &r->text, &r->statement, &code, error);
    r->cut = r->cut && r->wrapped.len == 0;
    return code;
}

/* Sets the reader's time to the first later time in the file. The caller uses this function if neither the row at
 * buffer[begin] nor an earlier row has a time. The buffer may move. */
static int look_ahead(struct qt_general *g, struct qt_error *error)
{
    struct qt_general_row row;
    size_t at = 0, len;
    int code = QT_OK;
    g->looked_ahead = 1;
    while (at < TIME_REACH) {
        const char *p = qt_log_line_at(&g->log, at, &len, &code, error);
        if (p == NULL)
            return code;
        if (qt_general_parse_row(p, len, g->style, &row) && row.time.kind != QT_LOGTIME_BAD) {
            g->time = row.time;
            return QT_OK;
        }
        at += len + 1;
    }
    return QT_OK;
}

static void stamp(struct qt_general *g, const struct qt_logtime *own, struct qt_event_time *m)
{
    struct qt_logtime t = *own;
    if (t.kind == QT_LOGTIME_BAD)
        t = g->time;
    m->duration_ns = -1;
    m->flags |= t.kind == QT_LOGTIME_BAD ? QT_F_CLOCK_GUESSED : 0;
    m->stamp_kind = t.kind == QT_LOGTIME_UTC ? QT_STAMP_START : QT_STAMP_SECOND;
    m->when_ns = t.ns;
    if (t.kind == QT_LOGTIME_LOCAL)
        qt_local_clock_set(&g->log.local, t.ns, m);
}

static const char *command_of(const struct row *r)
{
    /* An Execute row contains the bound values, so it is treated as a query. Bulk executions still contain
     * placeholders. */
    int filled = r->has_statement && !(r->statement.flags & QT_F_PLACEHOLDER);
    return filled && r->head.command->name[0] == 'E' ? "query" : r->head.command->tape;
}

static void say_problems(struct qt_general *g, const struct row *r)
{
    struct qt_span shown = r->has_statement && r->statement.redacted != NULL
                               ? (struct qt_span){r->statement.redacted, r->statement.redacted_len}
                               : r->text;
    if (r->cut)
        qt_log_add_cut_problem(&g->log, shown);
    else if (r->torn)
        qt_log_add_problem(&g->log, "truncated_statement", "a line of another program interrupts the statement", shown);
    else if (r->unbalanced)
        qt_log_add_problem(&g->log, "unbalanced_quote", "a literal or comment does not end inside the statement",
                           shown);
    else if (r->ambiguous)
        qt_log_add_problem(&g->log, "ambiguous_boundary",
                           "a line inside a literal looks like a log row, and was kept as part of the statement",
                           shown);
    qt_log_add_wrapped(&g->log, r->wrapped);
}

/* Returns 0 if the row was taken, 1 if the batch must be closed first, -1 when out of memory. */
static int take(struct qt_general *g, const struct row *r)
{
    struct qt_event_row e = qt_event_unknown;
    struct qt_event_time m = {.flags = 0};
    uint64_t key = (uint64_t)r->head.thread_id;
    stamp(g, &r->head.time, &m);
    if (qt_log_must_close(&g->log, &m, r->text.len))
        return 1;
    e.command = command_of(r);
    qt_general_take_start(&g->starts, &g->log.sessions, &r->head, r->text,
                          r->head.time.kind != QT_LOGTIME_BAD ? &r->head.time : &g->time);
    if (e.command[0] == 'c' && strcmp(e.command, "connect") == 0) {
        int64_t old = qt_sessions_find(&g->log.sessions, key, g->log.reader.events);
        if (old < 0)
            return -1;
        g->log.sessions.entries[old].ended = 1;
    }
    int64_t at = qt_log_find_session(&g->log, key, 0, e.command);
    struct qt_general_state *s =
        at < 0 ? NULL : qt_general_find_state(&g->states, (size_t)at, g->log.sessions.entries[at].session);
    if (s == NULL)
        return -1;
    m.entry = (uint32_t)at;
    e.session = g->log.sessions.entries[at].session;
    e.seq = g->log.sessions.entries[at].seq;
    e.thread_id = r->head.thread_id;
    e.precision_ns = m.stamp_kind == QT_STAMP_SECOND ? QT_SECOND : 1000;
    e.file = g->log.file;
    e.offset = (int64_t)g->log.offset;
    int code = QT_OK;
    const struct qt_open_session *open = qt_log_add_carried(&g->log, at, &e, &m, &code);
    if (code != QT_OK)
        return -1;
    if (open != NULL)
        qt_general_set_account(s, open->user, open->db);
    qt_general_follow(s, r->text, &e);
    if (r->has_statement)
        qt_event_set_statement(&e, r->text, &r->statement);
    m.flags |= e.flags | (qt_is_system_user(e.user) ? QT_F_SYSTEM : 0) | (r->cut || r->torn ? QT_F_TRUNCATED : 0);
    qt_log_note_jump(&g->log, &m);
    if (qt_event_batch_add(&g->log.reader.batch, &e, &m) != 0)
        return -1;
    if (r->has_statement && r->statement.flags & QT_F_USE)
        qt_general_follow_use(s, r->text);
    if (r->has_statement && e.command[0] == 'q')
        qt_log_follow_mode(&g->log, at, &r->statement, r->text, 1);
    say_problems(g, r);
    g->skipping = r->cut;
    g->log.file_events++;
    atomic_fetch_add_explicit(&g->log.reader.events, 1, memory_order_relaxed);
    return 0;
}

static void header_line(struct qt_general *g, const char *p, size_t n)
{
    const char *version = memmem(p, n, ", Version: ", 11);
    const char *end = version != NULL ? memmem(version, n - (size_t)(version - p), ". started", 9) : NULL;
    int other = 0;
    if (end != NULL && (size_t)(end - version) - 11 < sizeof g->log.reader.server_version) {
        struct qt_span found = {version + 11, (size_t)(end - version) - 11};
        other = g->log.reader.server_version[0] != '\0' && !qt_span_is(found, g->log.reader.server_version);
        qt_reader_set_version(&g->log.reader, found);
    }
    qt_general_note_header(&g->starts, atomic_load_explicit(&g->log.reader.events, memory_order_relaxed), other);
}

/* Handles a line that is not a row: the server's header, a blank line or an unknown line. */
static void other_line(struct qt_general *g, const char *p, size_t n)
{
    int known = n == 0 || banner_ends(p, n) || memmem(p, n, "cp port: ", 9) != NULL ||
                memmem(p, n, "CP Port: ", 9) != NULL ||
                (n >= 4 && memcmp(p, "Time", 4) == 0 && memmem(p, n, "Id Command", 10) != NULL);
    if (banner_ends(p, n))
        header_line(g, p, n);
    if (!known)
        qt_reader_add_not_understood(&g->log.reader, n + 1);
    if (known || g->skipping) {
        g->skipping = !known || (g->skipping && g->log.file_events == 0); /* report an unknown file once */
        return;
    }
    qt_log_add_bad_record(&g->log, g->log.file_events == 0 ? "starts_inside_event" : "not_understood",
                          "expected a row with time, thread id, command and argument", (struct qt_span){p, n});
    g->skipping = 1;
}

static int next_file(struct qt_general *g, struct qt_error *error)
{
    g->ahead_at = UINT64_MAX;
    g->skipping = 0;
    if (!g->log.was_truncated) {
        g->time.kind = QT_LOGTIME_BAD;
        g->looked_ahead = 0;
        g->style = QT_GENERAL_ANY;
    }
    return qt_log_next_file(&g->log, error);
}

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_general *g = (struct qt_general *)reader;
    qt_log_trim_sessions(&g->log);
    while (!atomic_load_explicit(&reader->stopped, memory_order_relaxed) && qt_log_is_open(&g->log)) {
        struct row r = {.used = 0};
        int code = QT_OK;
        size_t len;
        int known = g->ahead_at == g->log.offset && g->log.begin + g->ahead_len <= g->log.end;
        const char *p = known ? g->log.buffer + g->log.begin : qt_log_line_at(&g->log, 0, &len, &code, error);
        if (code != QT_OK)
            return qt_log_end_batch(&g->log, code);
        if (known) {
            len = g->ahead_len;
            r.head = g->ahead;
            r.head.argument.p = p + g->ahead_argument;
        }
        if (p == NULL) {
            if (next_file(g, error) < 0)
                return error != NULL ? error->code : QT_EIO;
            continue;
        }
        size_t whole = len + (len < g->log.end - g->log.begin ? 1 : 0);
        if (!known && !qt_general_parse_row(p, len, g->style, &r.head)) {
            other_line(g, p, len > 0 && p[len - 1] == '\r' ? len - 1 : len);
            qt_log_consume(&g->log, whole);
            continue;
        }
        if (r.head.time.kind == QT_LOGTIME_BAD && g->time.kind == QT_LOGTIME_BAD && !g->looked_ahead) {
            g->ahead_at = UINT64_MAX; /* the buffer may have moved, so parse the row again */
            if ((code = look_ahead(g, error)) != QT_OK)
                return qt_log_end_batch(&g->log, code);
            continue;
        }
        g->skipping = 0;
        g->style = qt_general_style_after(g->style, &r.head);
        struct qt_span argument = r.head.argument;
        r.used = whole;
        if (argument.len > 0 && argument.p[argument.len - 1] == '\r')
            argument.len--;
        while (argument.len > 0 && argument.p[argument.len - 1] == ' ')
            argument.len--;
        r.text = argument;
        if (r.head.command->sql && (code = read_sql(g, &r, whole, error)) != QT_OK)
            return qt_log_end_batch(&g->log, code);
        int taken = take(g, &r);
        if (taken < 0)
            return qt_fail(error, QT_ENOMEM, "out of memory");
        if (taken > 0)
            break;
        if (r.head.time.kind != QT_LOGTIME_BAD)
            g->time = r.head.time;
        qt_log_consume(&g->log, r.used);
    }
    return qt_log_end_batch(&g->log, QT_OK);
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    struct qt_general *g = (struct qt_general *)reader;
    qt_reader_describe_version(&g->log.reader, json);
    qt_json_int(json, "restarts", (int64_t)atomic_load_explicit(&g->starts.restarts, memory_order_relaxed));
}

static void close_log(struct qt_reader *reader)
{
    struct qt_general *g = (struct qt_general *)reader;
    qt_general_states_free(&g->states);
    qt_log_close(&g->log);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_log, NULL};

struct qt_reader *qt_general_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                  struct qt_error *error)
{
    struct qt_general *g = qt_log_open(sizeof *g, &kind, "a general query log", paths, n_paths, options, error);
    if (g == NULL)
        return NULL;
    g->ahead_at = UINT64_MAX;
    g->starts.highest = -1;
    return &g->log.reader;
}

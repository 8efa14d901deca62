/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the output of mysqlbinlog:
 *
 *   # at 884
 *   #261120 15:21:05 server id 1  end_log_pos 1264 CRC32 0xf07ae052 	Query	thread_id=512	exec_time=0	error_code=0
 *   use `shop`;;                         for all following statements, until the next `use`
 *   SET TIMESTAMP=1795188065.123456;;
 *   INSERT INTO t VALUES (1)
 *   ;;
 *
 * In this example ;; stands for DELIMITER, defined below. Intvar, User_var and Rand events come before their statement.
 * Xid is the COMMIT of the preceding thread.
 *
 * Row events are base64. Their statement is in an Annotate_rows or Rows_query event, if the server wrote one. Source:
 * mysqlbinlog of MySQL 8.0 and MariaDB 10.11. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/log.h"
#include "reader/log_time.h"

#define DELIMITER "/*!*/;"
#define HOUR (3600 * QT_SECOND)

enum body { BODY_NONE, BODY_QUERY, BODY_OTHER, BODY_QUOTED };

struct qt_binlog {
    struct qt_log log;
    enum body body;
    struct qt_bytes text;   /* the current statement, up to its delimiter */
    struct qt_bytes quoted; /* statement from an Annotate_rows or Rows_query event */
    struct qt_bytes before; /* NUL-separated statements to add before the next statement: BEGIN, user variables */
    struct qt_bytes db;
    int has_db;
    struct qt_session_mode mode; /* session mode that mysqlbinlog sets for the following statements */
    int64_t thread;              /* thread id of the last Query event; -1: unknown */
    int64_t when_ns;             /* time in whole seconds, from SET TIMESTAMP or the event header; -1: unknown */
    int64_t error_code, insert_id, last_insert_id;
    uint64_t row_events, unnamed; /* unnamed: row events without a known statement */
    int is_rows;                  /* the current event is a row event */
    int rows_told;                /* the statement of the current row events is already on the tape */
    int cut;                      /* the current statement exceeds the size limit for events */
    int in_cut;                   /* skips an oversized statement to its delimiter or the next event */
    int64_t header_ns;            /* local time from the header of the current event */
    int64_t offset_ns; /* UTC offset of header times, from the last SET TIMESTAMP; used if `log` has no time zone */
};

static int starts(struct qt_span s, const char *with)
{
    size_t n = strlen(with);
    return s.len >= n && memcmp(s.p, with, n) == 0;
}

static struct qt_span behind(struct qt_span s, size_t n) { return (struct qt_span){s.p + n, s.len - n}; }

static int64_t number_at(struct qt_span s, size_t *used)
{
    int64_t value = 0;
    size_t i = 0;
    for (; i < s.len && s.p[i] >= '0' && s.p[i] <= '9' && value < INT64_MAX / 10 - 9; i++)
        value = value * 10 + (s.p[i] - '0');
    *used = i;
    return i > 0 ? value : -1;
}

static int64_t named_number(struct qt_span line, const char *name)
{
    size_t used, n = strlen(name);
    for (const char *p = line.p; line.len >= n && p <= line.p + line.len - n; p++)
        if (*p == *name && memcmp(p, name, n) == 0)
            return number_at(behind(line, (size_t)(p - line.p) + n), &used);
    return -1;
}

/* Parses `#261120 15:21:05 server id ...`. The time is local to the host that ran mysqlbinlog. */
static int header(struct qt_span s, int64_t *when_ns)
{
    static const char SHAPE[] = "#dddddd dd:dd:dd server id ";
    if (s.len < sizeof SHAPE - 1)
        return 0;
    for (size_t i = 0; i < sizeof SHAPE - 1; i++)
        if (SHAPE[i] == 'd' && i < 16 ? !(s.p[i] >= '0' && s.p[i] <= '9') && !(i == 8 && s.p[i] == ' ')
                                      : s.p[i] != SHAPE[i])
            return 0;
    int64_t field[6];
    static const int at[] = {1, 3, 5, 8, 11, 14};
    for (int i = 0; i < 6; i++)
        field[i] = (s.p[at[i]] == ' ' ? 0 : s.p[at[i]] - '0') * 10 + s.p[at[i] + 1] - '0';
    if (field[1] < 1 || field[1] > 12 || field[2] < 1 || field[2] > 31)
        return 0;
    int64_t year = field[0] + (field[0] < 70 ? 2000 : 1900),
            days = qt_days_from_civil(year, (int)field[1], (int)field[2]);
    *when_ns = (days * 86400 + field[3] * 3600 + field[4] * 60 + field[5]) * QT_SECOND;
    return 1;
}

static int tell_one(struct qt_binlog *b, struct qt_span sql, struct qt_error *error)
{
    struct qt_event_row e = qt_event_unknown;
    struct qt_statement what;
    struct qt_event_time m = {.duration_ns = -1, .when_ns = b->when_ns, .stamp_kind = QT_STAMP_SECOND};
    uint64_t key = b->thread >= 0 ? (uint64_t)b->thread : QT_LOG_NO_THREAD;
    int64_t at = qt_log_find_session(&b->log, key, 0, "query");
    const struct qt_session_mode *mode = b->body == BODY_QUERY ? &b->mode : NULL; /* quoted SQL has no session mode */
    if (at < 0 || qt_normalize(b->log.normalizer, mode, sql.p, sql.len, &what, error) != QT_OK)
        return -1;
    m.entry = (uint32_t)at;
    e.command = "query";
    e.session = b->log.sessions.entries[at].session;
    e.seq = b->log.sessions.entries[at].seq;
    e.thread_id = b->thread;
    e.precision_ns = QT_SECOND;
    if (b->has_db)
        e.db = (struct qt_span){b->db.p != NULL ? b->db.p : "", b->db.len};
    e.insert_id = b->insert_id;
    e.last_insert_id = b->last_insert_id;
    e.errno_ = b->error_code;
    e.file = b->log.file;
    e.offset = (int64_t)b->log.offset;
    qt_event_set_statement(&e, sql, &what);
    m.flags = e.flags | (b->cut ? QT_F_TRUNCATED : 0);
    b->insert_id = b->last_insert_id = -1;
    if (qt_event_batch_add(&b->log.reader.batch, &e, &m) != 0)
        return -1;
    if (b->cut)
        qt_log_add_cut_problem(&b->log, e.statement);
    b->log.file_events++;
    atomic_fetch_add_explicit(&b->log.reader.events, 1, memory_order_relaxed);
    return 0;
}

/* Adds the statements in `before` for the same session, then the statement `sql`. */
static int tell(struct qt_binlog *b, struct qt_span sql, struct qt_error *error)
{
    int64_t insert_id = b->insert_id, last_insert_id = b->last_insert_id, error_code = b->error_code;
    b->insert_id = b->last_insert_id = -1;
    b->error_code = 0;
    for (size_t at = 0; at < b->before.len;) {
        struct qt_span earlier = {b->before.p + at, strlen(b->before.p + at)};
        if (tell_one(b, earlier, error) != 0)
            return -1;
        at += earlier.len + 1;
    }
    qt_bytes_clear(&b->before, 1 << 16);
    b->insert_id = insert_id;
    b->last_insert_id = last_insert_id;
    b->error_code = error_code;
    return tell_one(b, sql, error);
}

static int keep(struct qt_bytes *to, struct qt_span s)
{
    return memchr(s.p, 0, s.len) != NULL ? 0 : qt_bytes_add(to, s.p, s.len) | qt_bytes_add(to, "", 1);
}

/* Parses the schema name after `use` and removes its quotes. A doubled backtick is one backtick. */
static int use(struct qt_binlog *b, struct qt_span name)
{
    int quoted = name.len >= 2 && *name.p == '`';
    b->db.len = 0;
    b->has_db = 1;
    for (size_t i = (size_t)quoted; i < name.len - (size_t)quoted; i++) {
        if (qt_bytes_add(&b->db, name.p + i, 1) != 0)
            return -1;
        i += quoted && name.p[i] == '`';
    }
    return 0;
}

/* Drops the fraction of the timestamp. The server writes a fraction only for statements that need it. The reader
 * spreads statements without a fraction over their second. A mixture of exact and spread times would change the
 * order. */
static void timestamp(struct qt_binlog *b, struct qt_span s)
{
    size_t used;
    int64_t seconds = number_at(s, &used), ahead;
    if (seconds < 0 || seconds > INT64_C(7258118400))
        return;
    b->when_ns = seconds * QT_SECOND;
    ahead = b->header_ns - b->when_ns;
    if (ahead % (900 * QT_SECOND) == 0 && ahead >= -13 * HOUR && ahead <= 15 * HOUR)
        b->offset_ns = ahead;
}

/* Returns 1 for a setting that mysqlbinlog adds for the replaying client. Such a setting is not a statement of the
 * original client. */
static int is_setting(struct qt_span s)
{
    size_t i = starts(s, "/*!") ? 3 : starts(s, "/*M!") ? 4 : 0, used;
    (void)number_at(behind(s, i), &used);
    struct qt_span in = behind(s, i + used); /* text of the comment */
    return starts(s, "SET @@") || starts(s, "/*!\\C") ||
           (i > 0 && (starts(in, " SET @@") || starts(in, " SET TRANSACTION ")));
}

/* Handles one statement without its delimiter. */
static int statement(struct qt_binlog *b, struct qt_span s, struct qt_error *error)
{
    size_t used;
    while (s.len > 0 && (s.p[s.len - 1] == '\n' || s.p[s.len - 1] == '\r'))
        s.len--;
    if (s.len == 0 || starts(s, "DELIMITER"))
        return 0;
    if (starts(s, "use ")) {
        return use(b, behind(s, 4));
    } else if (starts(s, "SET TIMESTAMP=")) {
        timestamp(b, behind(s, 14));
    } else if (starts(s, "SET INSERT_ID=")) {
        b->insert_id = number_at(behind(s, 14), &used);
    } else if (starts(s, "SET LAST_INSERT_ID=")) {
        b->last_insert_id = number_at(behind(s, 19), &used);
    } else if (starts(s, "BINLOG '")) {
        b->row_events += (uint64_t)b->is_rows;
        b->unnamed += b->is_rows && !b->rows_told;
    } else if (starts(s, "SET @`") || starts(s, "SET @@RAND_SEED") ||
               (starts(s, "START TRANSACTION") && b->body == BODY_OTHER)) {
        return keep(&b->before, s);
    } else if (is_setting(s)) {
        if (s.p[0] == 'S')
            qt_session_mode_follow(b->log.normalizer, &b->mode, s.p, s.len, 1);
    } else if (!(b->body == BODY_OTHER && starts(s, "ROLLBACK"))) {
        return tell(b, s, error);
    }
    return 0;
}

static int end_quoted(struct qt_binlog *b, struct qt_error *error)
{
    struct qt_span s = {b->quoted.p, b->quoted.len};
    int bad = s.len > 0 ? tell(b, s, error) : 0;
    b->rows_told |= s.len > 0;
    qt_bytes_clear(&b->quoted, 1 << 16);
    b->cut = 0;
    return bad;
}

static int begin_event(struct qt_binlog *b, struct qt_span line, int64_t when_ns, struct qt_error *error)
{
    int64_t thread = named_number(line, "thread_id=");
    int quoted = memmem(line.p, line.len, "Annotate_rows", 13) != NULL ||
                 memmem(line.p, line.len, "Rows_query", 10) != NULL;
    int bad = b->body == BODY_QUOTED ? end_quoted(b, error) : 0;
    b->body = memmem(line.p, line.len, "\tQuery\t", 7) != NULL ? BODY_QUERY : quoted ? BODY_QUOTED : BODY_OTHER;
    int gtid = memmem(line.p, line.len, "GTID", 4) != NULL; /* a transaction begins; its thread id may follow */
    if (thread >= 0 || gtid)
        b->thread = thread;
    b->header_ns = when_ns;
    struct qt_event_time m = {.when_ns = when_ns - b->offset_ns};
    if (b->log.local.has_timezone)
        qt_local_clock_set(&b->log.local, when_ns, &m);
    b->is_rows = memmem(line.p, line.len, "_rows", 5) != NULL && !quoted;
    if (b->body == BODY_QUERY || quoted || gtid)
        b->rows_told = 0;
    b->error_code = b->body == BODY_QUERY ? named_number(line, "error_code=") : 0;
    b->when_ns = m.when_ns;
    return bad;
}

/* Returns 1 if the whole line is a position such as `# at 884`. */
static int is_place(struct qt_span s)
{
    size_t used;
    return starts(s, "# at ") && number_at(behind(s, 5), &used) >= 0 && used == s.len - 5;
}

/* Handles a comment line outside a statement: a position, a header or the statement of row events. */
static int comment(struct qt_binlog *b, struct qt_span s, struct qt_error *error)
{
    int64_t when_ns;
    if (header(s, &when_ns))
        return begin_event(b, s, when_ns, error);
    if (b->body != BODY_QUOTED || s.len == 0 || is_place(s))
        return 0;
    size_t skip = starts(s, "#Q> ") ? 4 : starts(s, "# ") ? 2 : 1;
    if (b->cut || s.len < skip)
        return 0;
    b->cut = b->log.line_is_cut || b->quoted.len + s.len > b->log.max_event;
    return (b->quoted.len > 0 && qt_bytes_add(&b->quoted, "\n", 1)) |
           qt_bytes_add(&b->quoted, s.p + skip, s.len - skip);
}

/* Adds the stored part of an oversized statement as an event. The rest is skipped. */
static int tell_cut(struct qt_binlog *b, struct qt_error *error)
{
    b->cut = b->in_cut = 1;
    size_t len = b->text.len - 1 < b->log.max_event ? b->text.len - 1 : b->log.max_event;
    int bad = statement(b, (struct qt_span){b->text.p, len}, error);
    qt_bytes_clear(&b->text, b->cut = 0);
    return bad;
}

/* Returns 0 if the line was taken, -1 when out of memory, -2 if a statement has no end. */
static int take(struct qt_binlog *b, struct qt_span s, struct qt_error *error)
{
    size_t n = sizeof DELIMITER - 1;
    int ends = s.len >= n && memcmp(s.p + s.len - n, DELIMITER, n) == 0 && !b->log.line_is_cut, bad = 0;
    if (b->in_cut && !is_place(s)) {
        b->in_cut = !ends;
        return 0;
    }
    b->in_cut = 0;
    if (b->text.len > 0 && is_place(s)) {
        qt_reader_add_not_understood(&b->log.reader, b->text.len);
        qt_bytes_clear(&b->text, 1 << 20);
        return -2;
    }
    if (b->text.len == 0 && (s.len == 0 || *s.p == '#'))
        return comment(b, s, error);
    if (b->text.len == 0 && starts(s, "DELIMITER ")) {
        b->body = BODY_NONE;
        return 0;
    }
    if (b->text.len == 0 && b->body == BODY_NONE)
        return 0;
    if (b->text.len > 0 || !ends) {
        bad = qt_bytes_add(&b->text, s.p, s.len) | qt_bytes_add(&b->text, "\n", 1);
        s = (struct qt_span){b->text.p, b->text.len - 1};
    }
    if (ends && bad == 0) {
        bad = statement(b, (struct qt_span){s.p, s.len - n}, error);
        qt_bytes_clear(&b->text, 1 << 20);
    }
    if (bad == 0 && b->text.len > 0 && (b->log.line_is_cut || b->text.len > b->log.max_event))
        bad = tell_cut(b, error);
    return bad != 0 ? -1 : 0;
}

static int end_of_file(struct qt_binlog *b, struct qt_error *error)
{
    /* A file without any header is not output of mysqlbinlog. */
    qt_reader_add_not_understood(&b->log.reader, !b->log.file_events && !b->body ? b->log.offset : b->text.len);
    if (b->text.len > 0)
        qt_log_add_bad_record(&b->log, "truncated_statement", "expected the delimiter " DELIMITER,
                              (struct qt_span){b->text.p, b->text.len});
    qt_bytes_clear(&b->text, 0);
    int bad = b->body == BODY_QUOTED ? end_quoted(b, error) : 0;
    b->body = BODY_NONE;
    b->in_cut = 0;
    return bad;
}

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_binlog *b = (struct qt_binlog *)reader;
    qt_log_trim_sessions(&b->log);
    while (!atomic_load_explicit(&reader->stopped, memory_order_relaxed) && qt_log_is_open(&b->log)) {
        struct qt_span text;
        size_t used = 0;
        int code = QT_OK, found = qt_log_line(&b->log, &text, &used, &code, error);
        if (found < 0)
            return qt_log_end_batch(&b->log, code);
        if (found == 0) {
            if (end_of_file(b, error) != 0)
                return qt_fail(error, QT_ENOMEM, "out of memory");
            if (qt_log_next_file(&b->log, error) < 0)
                return error != NULL ? error->code : QT_EIO;
            continue;
        }
        struct qt_event_time now = {.when_ns = b->when_ns, .stamp_kind = QT_STAMP_SECOND};
        if (is_place(text) && b->when_ns >= 0 && qt_log_must_close(&b->log, &now, 0))
            break;
        int taken = take(b, text, error);
        if (taken == -1)
            return qt_fail(error, QT_ENOMEM, "out of memory");
        if (taken == -2)
            qt_log_add_bad_record(&b->log, "truncated_statement", "expected the delimiter " DELIMITER,
                                  (struct qt_span){text.p, text.len < 40 ? text.len : 40});
        qt_log_consume_line(&b->log, used);
    }
    return qt_log_end_batch(&b->log, QT_OK);
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    const struct qt_binlog *b = (const struct qt_binlog *)reader;
    qt_json_int(json, "row_events", (int64_t)b->row_events);
    qt_json_int(json, "row_events_without_statement", (int64_t)b->unnamed);
}

static void close_log(struct qt_reader *reader)
{
    struct qt_binlog *b = (struct qt_binlog *)reader;
    qt_bytes_free(&b->text);
    qt_bytes_free(&b->quoted);
    qt_bytes_free(&b->before);
    qt_bytes_free(&b->db);
    qt_log_close(&b->log);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_log, NULL};

struct qt_reader *qt_binlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                 struct qt_error *error)
{
    struct qt_binlog *b = qt_log_open(sizeof *b, &kind, "output of mysqlbinlog", paths, n_paths, options, error);
    if (b == NULL)
        return NULL;
    b->thread = b->when_ns = b->insert_id = b->last_insert_id = -1;
    return &b->log.reader;
}

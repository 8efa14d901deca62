/* SPDX-License-Identifier: Apache-2.0 */
/* The log file of MariaDB's server_audit plugin. RDS and Aurora MySQL write the same format:
 *
 *   20261120 15:08:38,serverhost,user,host,connectionid,queryid,QUERY,database,'SQL',retcode
 *   1718000000125000,...                                         Aurora: microseconds since the epoch
 *   20261120T15:08:38.481161+0100,...                            server_audit_timestamp_format of MariaDB 12
 *
 * A row is one line, written when the statement has ended. The plugin escapes \' \\ \n \r \t and similar bytes. It
 * replaces other control bytes with blanks.
 *
 * The plugin cuts the text at server_audit_query_log_limit bytes without a mark. So the reader treats a text of exactly
 * that length as truncated.
 *
 * The reader skips READ, WRITE and similar rows, which list the tables of a QUERY row. It also skips PROXY_CONNECT,
 * which names a proxied account. MariaDB 12 writes host:port. Source: server_audit.c of MariaDB 10.11 and 12. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/log.h"
#include "reader/log_text.h"
#include "reader/log_time.h"

#define KEPT_TEXT ((size_t)16 << 20) /* larger buffers are freed after use */

enum { FIELDS = 8, TIME = 0, USER = 2, HOST = 3, CONNECTION = 4, OPERATION = 6, DATABASE = 7 };

struct qt_server_audit {
    struct qt_log log;
    int64_t limit;        /* server_audit_query_log_limit */
    struct qt_bytes text; /* the unescaped statement */
    int has_ports;        /* hosts in this file have ports */
    uint64_t cut;
};

/* ---- times of rows: `20261120 15:08:38`, server_audit_timestamp_format and syslog ---- */

struct audit_time {
    int64_t ns;      /* since the epoch; a local time without a zone is treated as UTC */
    int64_t unit_ns; /* unit of the last digit; 1 s if the fraction is zero, because MariaDB 12 writes no fraction */
    int has_zone;
};

enum { MAX_FRACTION = 9 };

struct cursor {
    const char *p, *end;
};

static int is_digit(const struct cursor *c, int at) { return c->end - c->p > at && c->p[at] >= '0' && c->p[at] <= '9'; }

/* Parses `least` to `most` digits. Returns -1 if there are fewer than `least` digits. */
static int64_t digits(struct cursor *c, int least, int most)
{
    int64_t value = 0;
    int n = 0;
    for (; n < most && is_digit(c, 0); n++)
        value = value * 10 + *c->p++ - '0';
    return n < least ? -1 : value;
}

static int take_char(struct cursor *c, char wanted)
{
    int found = c->p < c->end && *c->p == wanted;
    c->p += found;
    return found;
}

/* Parses a two-digit month or a month name. Returns -1 on other text. */
static int64_t month(struct cursor *c)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12 && c->end - c->p >= 3; i++)
        if (memcmp(c->p, names + 3 * i, 3) == 0) {
            c->p += 3;
            return i + 1;
        }
    return digits(c, 2, 2);
}

/* Parses a date. Returns the days since the epoch, or -1. Sets `separated` if the date has separators. */
static int64_t date(struct cursor *c, int *separated)
{
    int64_t year = digits(c, 4, 4);
    char between = c->p < c->end ? *c->p : 0;
    *separated = between != 0 && strchr("-/. ", between) != NULL;
    c->p += *separated;
    int64_t m = month(c);
    if (*separated && !take_char(c, between))
        return -1;
    while (*separated && between == ' ' && take_char(c, ' ')) /* syslog pads a one-digit day with a blank */
        ;
    int64_t day = digits(c, *separated ? 1 : 2, 2);
    if (year < 1970 || year > 2199 || m < 1 || m > 12 || day < 1 || day > 31)
        return -1;
    return qt_days_from_civil(year, (int)m, (int)day);
}

/* Parses a time of day. Returns its seconds, or -1 if the text is not a time. */
static int64_t clock_time(struct cursor *c, int *separated)
{
    int64_t hour = digits(c, 2, 2);
    *separated = take_char(c, ':');
    int64_t minute = digits(c, 2, 2);
    if (*separated && !take_char(c, ':'))
        return -1;
    int64_t second = digits(c, 2, 2);
    return hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60
               ? -1
               : hour * 3600 + minute * 60 + second;
}

/* Parses a fraction after a dot. Returns nanoseconds, or -1 if there are no digits. */
static int64_t fraction(struct cursor *c, int64_t *unit_ns)
{
    *unit_ns = QT_SECOND;
    if (!take_char(c, '.'))
        return 0;
    const char *first = c->p;
    int64_t value = digits(c, 1, MAX_FRACTION), unit = QT_SECOND;
    for (const char *p = first; p < c->p; p++)
        unit /= 10;
    if (value > 0)
        *unit_ns = unit;
    return value < 0 ? -1 : value * unit;
}

/* Parses a zone and sets `offset` to its seconds ahead of UTC. Returns -1 if other text follows. */
static int zone(struct cursor *c, struct audit_time *out, int64_t *offset)
{
    static const char *const utc[] = {"Z", "UTC", "GMT"};
    *offset = 0;
    out->has_zone = c->p < c->end;
    if (!out->has_zone)
        return 0;
    (void)take_char(c, ' ');
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(utc[i]);
        if ((size_t)(c->end - c->p) == n && memcmp(c->p, utc[i], n) == 0)
            return 0;
    }
    int west = take_char(c, '-');
    if (!west && !take_char(c, '+'))
        return -1;
    int64_t hours = digits(c, 2, 2);
    (void)take_char(c, ':');
    int64_t minutes = c->p < c->end ? digits(c, 2, 2) : 0;
    if (hours < 0 || hours > 15 || minutes < 0 || minutes > 59 || c->p != c->end)
        return -1;
    *offset = (hours * 60 + minutes) * (west ? -60 : 60);
    return 0;
}

static int since_epoch(struct qt_span s, struct audit_time *out)
{
    struct cursor c = {s.p, s.p + s.len};
    int64_t us = s.len >= 15 && s.len <= 16 ? digits(&c, 15, 16) : -1;
    if (us < 0 || c.p != c.end || us >= INT64_C(7258118400000000))
        return 0;
    *out = (struct audit_time){us * 1000, 1000, 1};
    return 1;
}

/* Parses year, month, day, hour, minute and second, in this order. Separators are optional: one kind of separator in
 * the date, and colons in the time. The month may be an English name. A fraction and a zone may follow.
 *
 * 15 or more digits are microseconds since the epoch. Returns 0 if the text is not a time from 1970 to 2199. */
static int parse_time(struct qt_span s, struct audit_time *out)
{
    if (since_epoch(s, out))
        return 1;
    struct cursor c = {s.p, s.p + s.len};
    int date_separated, time_separated;
    int64_t days = date(&c, &date_separated);
    int between = days >= 0 && (take_char(&c, ' ') || take_char(&c, 'T'));
    int64_t seconds = days >= 0 ? clock_time(&c, &time_separated) : -1;
    if (seconds < 0 || (!between && (date_separated || time_separated)))
        return 0;
    int64_t offset, ns = fraction(&c, &out->unit_ns);
    if (ns < 0 || zone(&c, out, &offset) != 0)
        return 0;
    out->ns = (days * 86400 + seconds - offset) * QT_SECOND + ns;
    return 1;
}

/* ---- rows ---- */

struct line {
    struct qt_span field[FIELDS];
    struct qt_span object; /* escaped text; p NULL: empty */
    int64_t retcode;       /* -1 if missing, -2 if not a number */
};

static int number(struct qt_span s, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || *out > (INT64_MAX - 9) / 10)
            return 0;
        *out = *out * 10 + (s.p[i] - '0');
    }
    return s.len > 0;
}

/* Finds the end of a quoted object: the first quote without a backslash before it. */
static const char *quoted_end(const char *p, const char *end)
{
    while (p < end && *p != '\'')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p : NULL;
}

/* Splits a line into its fields. If `cut` is set, the line is truncated, and its last field is the object. */
static int split(struct qt_span text, int cut, struct line *out)
{
    const char *p = text.p, *end = text.p + text.len;
    for (int i = 0; i < FIELDS; i++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        if (comma == NULL)
            return 0;
        out->field[i] = (struct qt_span){p, (size_t)(comma - p)};
        p = comma + 1;
    }
    out->object = (struct qt_span){NULL, 0};
    out->retcode = -1;
    if (p < end && *p == '\'') {
        const char *close = quoted_end(p + 1, end);
        if (close == NULL && !cut)
            return 0;
        if (close == NULL) {
            out->object = (struct qt_span){p + 1, (size_t)(end - p - 1)};
            return 1;
        }
        out->object = (struct qt_span){p + 1, (size_t)(close - p - 1)};
        p = close + 1;
    } else {
        while (p < end && *p != ',')
            p++;
    }
    if (p == end || *p != ',')
        return 0;
    const char *stop = memchr(p + 1, ',', (size_t)(end - p - 1)); /* newer versions append the connection type */
    struct qt_span code = {p + 1, (size_t)((stop != NULL ? stop : end) - p - 1)};
    if (!number(code, &out->retcode))
        out->retcode = -2;
    return 1;
}

/* Removes the escapes of an object. A truncated object may end inside an escape; its final backslash is dropped. */
static int unescape(struct qt_server_audit *a, struct qt_span from)
{
    a->text.len = 0;
    for (size_t i = 0; i < from.len; i++) {
        char c = from.p[i];
        if (c == '\\') {
            if (++i == from.len)
                break;
            c = from.p[i];
            c = c == 'n'   ? '\n'
                : c == 'r' ? '\r'
                : c == 't' ? '\t'
                : c == '0' ? '\0'
                : c == 'b' ? '\b'
                : c == 'Z' ? 26
                           : c;
        }
        if (qt_bytes_add(&a->text, &c, 1) != 0)
            return -1;
    }
    return 0;
}

static int when(struct qt_server_audit *a, struct qt_span s, struct qt_event_time *m, int64_t *unit_ns)
{
    struct audit_time time;
    if (!parse_time(s, &time))
        return 0;
    if (time.has_zone)
        m->when_ns = time.ns;
    else
        qt_local_clock_set(&a->log.local, time.ns, m);
    m->stamp_kind = time.unit_ns == QT_SECOND ? QT_STAMP_SECOND : QT_STAMP_END;
    *unit_ns = time.unit_ns;
    return 1;
}

static const char *command_of(struct qt_span operation)
{
    static const char *const names[][2] = {
        {"QUERY", "query"},     {"CONNECT", "connect"},        {"FAILED_CONNECT", "connect"},
        {"DISCONNECT", "quit"}, {"CHANGEUSER", "change_user"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (qt_span_is(operation, names[i][0]))
            return names[i][1];
    return NULL;
}

static int is_passed_over(struct qt_span operation)
{
    static const char *const names[] = {"READ", "WRITE", "CREATE", "ALTER", "RENAME", "DROP", "PROXY_CONNECT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (qt_span_is(operation, names[i]))
            return 1;
    return 0;
}

/* Removes the port from `host` and returns it, or -1 if there is none.
 *
 * The last group of an IPv6 address may look like a port. The group is a port if it follows a bracket or has five
 * digits. It is also a port if the hosts of this log have ports. */
static int32_t take_port(struct qt_server_audit *a, struct qt_span *host)
{
    const char *colon = memrchr(host->p, ':', host->len);
    int64_t port;
    if (colon == NULL)
        return -1;
    struct qt_span digits = {colon + 1, (size_t)(host->p + host->len - colon - 1)};
    struct qt_span before = {host->p, (size_t)(colon - host->p)};
    if (!number(digits, &port) || port > 65535 || before.len == 0 || before.p[before.len - 1] == ':')
        return -1;
    int in_brackets = before.p[0] == '[' && before.p[before.len - 1] == ']';
    a->has_ports |= in_brackets || digits.len == 5 || memchr(before.p, ':', before.len) == NULL;
    if (!a->has_ports)
        return -1;
    *host = in_brackets ? (struct qt_span){before.p + 1, before.len - 2} : before;
    return (int32_t)port;
}

static void tell_port(struct qt_server_audit *a, const struct qt_event_row *e, int32_t port)
{
    struct qt_session_fact fact = {
        .session = e->session,
        .thread_id = e->thread_id,
        .user = e->user,
        .db = e->db,
        .port = port,
        .client_flags = -1,
        .open_at_start = -1,
        .open_at_end = -1,
        .encrypted = -1,
    };
    qt_session_facts_add(&a->log.reader.facts, &fact);
}

static int begins_session(struct qt_server_audit *a, uint64_t key)
{
    int64_t at = qt_sessions_find(&a->log.sessions, key, a->log.reader.events);
    if (at >= 0)
        a->log.sessions.entries[at].ended = 1;
    return at >= 0;
}

static void count_event(struct qt_server_audit *a, const struct line *l)
{
    if (l->retcode == -2)
        qt_log_add_problem(&a->log, "bad_value", "expected a number as the return code of the row",
                           l->field[OPERATION]);
    a->log.file_events++;
    atomic_fetch_add_explicit(&a->log.reader.events, 1, memory_order_relaxed);
}

/* Returns 0 if the line was taken or skipped, and 1 if the batch must be closed first. Returns -1 when out of memory
 * and -2 if the line cannot be parsed. */
static int take(struct qt_server_audit *a, const struct line *l, struct qt_error *error)
{
    struct qt_event_row e = qt_event_unknown;
    struct qt_statement what;
    struct qt_event_time m = {.duration_ns = -1};
    int64_t id;
    e.command = command_of(l->field[OPERATION]);
    if (e.command == NULL && is_passed_over(l->field[OPERATION]))
        return 0;
    if (e.command == NULL || !when(a, l->field[TIME], &m, &e.precision_ns) || !number(l->field[CONNECTION], &id))
        return -2;
    if (qt_log_must_close(&a->log, &m, l->object.len))
        return 1;
    if (strcmp(e.command, "connect") == 0 && !begins_session(a, (uint64_t)id))
        return -1;
    int64_t at = qt_log_find_session(&a->log, (uint64_t)id, 0, e.command);
    if (at < 0)
        return -1;
    m.entry = (uint32_t)at;
    e.session = a->log.sessions.entries[at].session;
    e.seq = a->log.sessions.entries[at].seq;
    e.thread_id = id;
    e.user = l->field[USER];
    e.db = l->field[DATABASE];
    e.host = l->field[HOST];
    int32_t port = take_port(a, &e.host);
    if (port > 0 && strcmp(e.command, "connect") == 0)
        tell_port(a, &e, port);
    e.errno_ = l->retcode;
    e.file = a->log.file;
    e.offset = (int64_t)a->log.offset;
    int code = QT_OK;
    (void)qt_log_add_carried(&a->log, at, &e, &m, &code);
    if (code != QT_OK)
        return -1;
    if (l->object.p != NULL && strcmp(e.command, "query") == 0) {
        struct qt_session_mode mode = a->log.sessions.entries[at].mode;
        if (unescape(a, l->object) != 0 ||
            qt_normalize(a->log.normalizer, &mode, a->text.p ? a->text.p : "", a->text.len, &what, error))
            return -1;
        struct qt_span text = {a->text.p ? a->text.p : "", a->text.len};
        qt_event_set_statement(&e, text, &what);
        qt_log_follow_mode(&a->log, at, &what, text, l->retcode > 0 ? -1 : 0); /* the log may lack other statements */
        if (a->log.line_is_cut) {
            m.flags |= QT_F_TRUNCATED;
            qt_log_add_cut_problem(&a->log, e.statement);
        } else if ((int64_t)a->text.len == a->limit) {
            m.flags |= QT_F_TRUNCATED;
            a->cut++;
        }
    }
    m.flags |= e.flags | (qt_is_system_user(e.user) ? QT_F_SYSTEM : 0);
    qt_log_note_jump(&a->log, &m);
    if (qt_event_batch_add(&a->log.reader.batch, &e, &m) != 0)
        return -1;
    count_event(a, l);
    return 0;
}

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_server_audit *a = (struct qt_server_audit *)reader;
    qt_log_trim_sessions(&a->log);
    while (!atomic_load_explicit(&reader->stopped, memory_order_relaxed) && qt_log_is_open(&a->log)) {
        struct qt_span text;
        struct line line;
        size_t used = 0;
        int code = QT_OK, found = qt_log_line(&a->log, &text, &used, &code, error);
        if (found < 0)
            return qt_log_end_batch(&a->log, code);
        if (found == 0) {
            a->has_ports = 0;
            if (qt_log_next_file(&a->log, error) < 0)
                return error != NULL ? error->code : QT_EIO;
            continue;
        }
        int taken = text.len == 0 ? 0 : split(text, a->log.line_is_cut, &line) ? take(a, &line, error) : -2;
        if (taken == 1)
            break;
        if (taken == -1)
            return qt_fail(error, QT_ENOMEM, "out of memory");
        if (taken == -2)
            qt_reader_add_not_understood(reader, used);
        if (taken == -2)
            qt_log_add_bad_record(&a->log, "not_understood",
                                  "expected time,serverhost,user,host,connection,query,operation,database,object,code",
                                  text);
        qt_log_consume_line(&a->log, used);
        if (a->text.room > KEPT_TEXT)
            qt_bytes_clear(&a->text, KEPT_TEXT);
    }
    return qt_log_end_batch(&a->log, QT_OK);
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    qt_json_int(json, "cut_statements", (int64_t)((struct qt_server_audit *)reader)->cut);
}

static void close_log(struct qt_reader *reader)
{
    struct qt_server_audit *a = (struct qt_server_audit *)reader;
    qt_bytes_free(&a->text);
    qt_log_close(&a->log);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_log, NULL};

struct qt_reader *qt_server_audit_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                       int64_t limit, struct qt_error *error)
{
    struct qt_server_audit *a = qt_log_open(sizeof *a, &kind, "a server_audit log", paths, n_paths, options, error);
    if (a == NULL)
        return NULL;
    a->limit = limit;
    return &a->log.reader;
}

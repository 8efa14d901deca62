/* SPDX-License-Identifier: Apache-2.0 */
/* A parser must not read beyond the given length. Each text is truncated at every place and followed by its own rest or
 * by other bytes. */
#include <inttypes.h>

#include "check.h"
#include "logs/general_row.h"
#include "protocol/login_packets.h"
#include "slowlog/slowlog_header.h"

static char found[2][4096];

struct writer {
    char *to;
    size_t n;
    const char *begin;
};

static void put(struct writer *w, int64_t number)
{
    w->n += (size_t)snprintf(w->to + w->n, sizeof found[0] - w->n, "%" PRId64 " ", number);
}

static void put_span(struct writer *w, struct qt_span s)
{
    put(w, s.p == NULL || s.len == 0 ? -1 : s.p - w->begin);
    put(w, (int64_t)s.len);
}

typedef void (*teller)(struct writer *w, const char *p, size_t n);

static void cut_everywhere(const char *text, size_t len, teller tell)
{
    static const char behind[] = ": 09@][.-Zz'\"/*#\n\\;=\x01\xff\x80";
    for (size_t n = 0; n <= len; n++) {
        for (size_t at = 0; at < sizeof behind; at++) {
            char *cut = malloc(len + 64);
            CHECK(cut != NULL);
            memset(cut, behind[at], len + 64);
            memcpy(cut, text, at == 0 ? len : n); /* the first turn keeps the rest of the text */
            struct writer w = {found[at > 0], 0, cut};
            w.to[0] = '\0';
            tell(&w, cut, n);
            free(cut);
            CHECK_TEXT(found[at > 0], found[0]);
        }
    }
}

static void tell_attributes(struct writer *w, const char *p, size_t n)
{
    struct qt_slow_event e = {.thread_id = -1, .query_ns = -1, .rows_sent = -1};
    qt_slow_parse_attributes(p, p + n, &e);
    const int64_t numbers[] = {e.thread_id,     e.query_ns,   e.lock_ns,       e.rows_sent,  e.rows_examined,
                               e.rows_affected, e.bytes_sent, e.errno_,        e.killed,     e.start_ns,
                               e.end_ns,        e.rate_limit, e.rate_by_query, e.in_routine, e.unknown_line};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put(w, numbers[i]);
    put_span(w, e.schema);
}

static void tell_account(struct writer *w, const char *p, size_t n)
{
    struct qt_slow_event e = {0};
    put(w, qt_slow_parse_user_host(p, p + n, &e) - p);
    put_span(w, e.user);
    put_span(w, e.host);
    put_span(w, e.address);
}

static void tell_time(struct writer *w, const char *p, size_t n)
{
    struct qt_logtime time = qt_logtime_parse(p, n);
    put(w, time.kind);
    put(w, time.kind != QT_LOGTIME_BAD ? time.ns : 0);
    put(w, time.kind != QT_LOGTIME_BAD ? (int64_t)time.length : 0);
}

static void tell_row(struct writer *w, const char *p, size_t n)
{
    for (int style = QT_GENERAL_ANY; style <= QT_GENERAL_TABBED; style++) {
        struct qt_general_row row = {0};
        int is = qt_general_parse_row(p, n, (enum qt_general_style)style, &row);
        put(w, is);
        if (!is)
            continue;
        put(w, row.time.ns);
        put(w, row.thread_id);
        put(w, row.tabbed);
        w->n += (size_t)snprintf(w->to + w->n, sizeof found[0] - w->n, "%s ", row.command->name);
        put_span(w, row.argument);
    }
}

static void tell_argument(struct writer *w, const char *p, size_t n)
{
    struct qt_span user = {0}, host = {0}, db = {0};
    qt_general_parse_account((struct qt_span){p, n}, &user, &host, &db);
    put_span(w, user);
    put_span(w, host);
    put_span(w, db);
}

static void tell_greeting(struct writer *w, const char *p, size_t n)
{
    struct qt_greeting g = {0};
    int code = qt_parse_greeting((const uint8_t *)p, n, &g);
    put(w, code);
    if (code)
        return;
    put_span(w, g.version);
    put(w, g.thread_id);
    put(w, (int64_t)g.caps);
}

static void tell_login(struct writer *w, const char *p, size_t n)
{
    for (int i = 0; i < 2; i++) {
        struct qt_login_response r = {0};
        int code = qt_parse_login_response((const uint8_t *)p, n, i ? UINT64_MAX : 0x00ffffff, &r);
        put(w, code);
        put(w, r.has_caps);
        put(w, (int64_t)r.caps);
        put(w, r.charset);
        put(w, r.wants_tls);
        put_span(w, r.user);
        put(w, r.has_db);
        put_span(w, r.db);
        put_span(w, r.attributes);
    }
}

static void tell_attribute_list(struct writer *w, const char *p, size_t n)
{
    struct qt_bytes out = {0};
    put(w, qt_write_attributes((struct qt_span){p, n}, &out));
    for (size_t i = 0; i < out.len; i++)
        put(w, out.p[i]);
    qt_bytes_free(&out);
}

static void tell_change_user(struct writer *w, const char *p, size_t n)
{
    struct qt_span user = {0}, db = {0};
    int collation = -1;
    put(w, qt_parse_change_user((struct qt_span){p, n}, &user, &db, &collation));
    put(w, collation);
    put_span(w, user);
    put_span(w, db);
}

static void tell_proxy_header(struct writer *w, const char *p, size_t n)
{
    struct qt_proxy_header h = {0};
    put(w, qt_parse_proxy_header(p, n, &h));
    put(w, (int64_t)h.used);
    put(w, h.port);
    w->n += (size_t)snprintf(w->to + w->n, sizeof found[0] - w->n, "%s ", h.host);
}

#define CUT(text, tell) cut_everywhere(text, sizeof(text) - 1, tell)

static void slow_log_lines_are_read_without_their_neighbours(void)
{
    CUT("Query_time: 12.000345  Lock_time: 0.5 Rows_sent: 18446744073709551615  Rows_examined: 9", tell_attributes);
    CUT("Thread_id: 5  Schema: my shop  QC_hit: No Errno: 1064 Killed: 0 Bytes_sent: 77", tell_attributes);
    CUT("Schema:   Rows_affected: 3  Log_slow_rate_type: query  Log_slow_rate_limit: 10", tell_attributes);
    CUT("Start: 2026-01-01T00:00:09.000001Z End: 2026-01-01T00:00:09.5+02:00 Id: 7 Stored_routine: a.b",
        tell_attributes);
    CUT("x=Last_errno: 3 (Rows_sent: 2", tell_attributes);
    CUT("a@b[a@c] @ web1  [10.0.0.7]  Id: 5", tell_account);
    CUT("[real] @  [] Id: 5", tell_account);
}

static void times_are_read_without_their_neighbours(void)
{
    CUT("2026-01-31T23:59:59.999999Z", tell_time);
    CUT("2026-02-28T01:02:03.5+02:30", tell_time);
    CUT("2026-02-28T01:02:03-11:00", tell_time);
    CUT("261122  7:05:09", tell_time);
    CUT("261122 17:05:09", tell_time);
}

static void general_log_rows_are_read_without_their_neighbours(void)
{
    CUT("2026-11-22T07:00:00.000001Z\t    7 Query\tSELECT 1", tell_row);
    CUT("2026-11-22T07:00:00.000001+02:00    71 Init DB shop", tell_row);
    CUT("261122  7:00:00\t    7 Connect\tapp@web1 on shop using TCP/IP", tell_row);
    CUT("\t\t    7 Execute\tSELECT 1", tell_row);
    CUT("\t\t 1234567 Close stmt\t", tell_row);
    CUT("261122  7:00:00      7 Quit       ", tell_row);
    CUT("app@web1 on shop using TCP/IP", tell_argument);
    CUT("a@b@web1 as anonymous on  using Socket", tell_argument);
    CUT("[root] @ localhost [] on ", tell_argument);
}

static void login_packets_are_read_without_their_neighbours(void)
{
    static const char greeting[] = "\x0a"
                                   "5.5.5-10.11.6-MariaDB\0\x4d\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15"
                                   "\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";
    static const char login[] = "\x8d\xa6\xff\x19\0\0\0\1\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0"
                                "app\0\x04"
                                "abcdshop\0mysql_native_password\0\x0e\4_pid\3123\3foo\1x";
    static const char change[] = "\x11"
                                 "app\0\4abcdshop\0\x2d\0mysql_native_password\0";
    CUT(greeting, tell_greeting);
    CUT(login, tell_login);
    CUT(change, tell_change_user);
    CUT("\4_pid\3123\5a\"b\\c\1x", tell_attribute_list);
    CUT("PROXY TCP4 10.0.0.7 10.0.0.1 40000 3306\r\n", tell_proxy_header);
    CUT("PROXY TCP6 ::1 ::2 40000 3306\r\n", tell_proxy_header);
    CUT("PROXY UNKNOWN\r\n", tell_proxy_header);
    CUT("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\7\x0a\0\0\1\x9c\x40\x0c\xea", tell_proxy_header);
}

/* The shortest valid header, and shorter invalid headers. */
static void shortest_proxy_headers_are_read(void)
{
    static const char local[16] = "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    struct qt_proxy_header h;
    CHECK_INT(qt_parse_proxy_header(local, 16, &h), 1);
    CHECK_INT(h.used, 16);
    CHECK_INT(h.host[0], 0);
    CHECK_INT(qt_parse_proxy_header(local, 15, &h), -1);
    CHECK_INT(qt_parse_proxy_header("PROXY \r\n", 8, &h), 1);
    CHECK_INT(h.used, 8);
    CHECK_INT(qt_parse_proxy_header("PROXY \r\n", 7, &h), -1);
}

int main(void)
{
    RUN(slow_log_lines_are_read_without_their_neighbours);
    RUN(times_are_read_without_their_neighbours);
    RUN(general_log_rows_are_read_without_their_neighbours);
    RUN(login_packets_are_read_without_their_neighbours);
    RUN(shortest_proxy_headers_are_read);
    return 0;
}

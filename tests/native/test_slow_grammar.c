/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a slow log: every kind of line next to every other kind, with all fields. Partial input must give the same
 * event. */
#include "slowlog/slowlog_grammar.h"

#include "check.h"

#define HEAD "# Time: 260101  0:00:01\n# User@Host: u[u] @ h [1.2.3.4]\n# Query_time: 1.5  Lock_time: 0.25\n"
#define SET "SET timestamp=1700000000;\n"
#define NEXT "# Time: 260101  0:00:02\n# User@Host: u[u] @ h []\n# Query_time: 2\n"

static enum qt_slow_result parse(const char *text, size_t n, int at_end, int check_quotes, struct qt_slow_event *out,
                                 size_t *used)
{
    static char own[8192]; /* exact size: bytes after the text would change the result */
    struct qt_span banner;
    CHECK(n < sizeof own - 16);
    memset(own, '9', sizeof own);
    memcpy(own, text, n);
    return qt_slow_parse(own, n, at_end, 0, check_quotes, out, &banner, used);
}

static int is_body(const struct qt_slow_event *e, const char *body)
{
    return e->body.len == strlen(body) && memcmp(e->body.p, body, e->body.len) == 0;
}

/* ---- SET lines of the server ---- */

/* Tests the assignments of a server's SET line in any order. Anything else makes the line a client statement, which is
 * the body. */
static void set_line_of_the_server_is_recognized(void)
{
    static const struct {
        const char *line;
        int64_t timestamp, insert_id, last;
    } cases[] = {
        {"timestamp=0", 0, -1, -1},
        {"timestamp=7258118400", INT64_C(7258118400), -1, -1},
        {"timestamp=7258118401", -1, -1, -1},
        {"timestamp=1700000000.123456", 1700000000, -1, -1},
        {"timestamp=1700000000.", 1700000000, -1, -1},
        {"insert_id=12,timestamp=9", 9, 12, -1},
        {"last_insert_id=34,insert_id=12,timestamp=9", 9, 12, 34},
        {"last_insert_id=1234567890123456789,timestamp=9", 9, -1, INT64_C(1234567890123456789)},
        {"timestamp=9,insert_id=12", 9, 12, -1},
        {"insert_id=12", -1, -1, -1},
        {"insert_id=12.5,timestamp=9", -1, -1, -1},
        {"timestamp=", -1, -1, -1},
        {"timestamp=9,", -1, -1, -1},
        {"timestamp=9;", -1, -1, -1},
        {"timestamp=-9", -1, -1, -1},
        {"timestamp = 9", -1, -1, -1},
        {"timestamp=9 ", -1, -1, -1},
        {"sql_mode=9", -1, -1, -1},
        {"last_insert_id=92233720368547758079,timestamp=9", -1, -1, -1},
        {"timestamp=1772615701018", 1772615701, -1, -1}, /* written by dble */
        {"timestamp=946684800000", -1, -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int cr = 0; cr <= 1; cr++) {
            char text[1000], set[200];
            struct qt_slow_event e;
            size_t used;
            const char *end = cr ? ";\r\n" : ";\n";
            int is = cases[i].timestamp >= 0;
            snprintf(set, sizeof set, "SET %s", cases[i].line);
            snprintf(text, sizeof text, HEAD "%s%sSELECT 1;\n" NEXT, set, end);
            CHECK_INT(parse(text, strlen(text), 0, 0, &e, &used), QT_SLOW_EVENT);
            CHECK_INT(e.timestamp_s, cases[i].timestamp);
            CHECK_INT(e.insert_id, is ? cases[i].insert_id : -1);
            CHECK_INT(e.last_insert_id, is ? cases[i].last : -1);
            if (is)
                CHECK(is_body(&e, "SELECT 1"));
            else
                CHECK(e.body.len > strlen(set) && memcmp(e.body.p, set, strlen(set)) == 0);
            CHECK_INT(used, strlen(text) - strlen(NEXT));
            CHECK_INT(e.header_follows, 1);
            /* without a following statement, the SET is a client statement */
            snprintf(text, sizeof text, HEAD "%s%s" NEXT, set, end);
            CHECK_INT(parse(text, strlen(text), 0, 0, &e, &used), QT_SLOW_EVENT);
            CHECK(is_body(&e, set));
            CHECK_INT(used, strlen(text) - strlen(NEXT));
        }
}

/* ---- USE ---- */

static void use_lines_name_the_schema(void)
{
    static const struct {
        const char *line, *name; /* NULL: the line is the body */
    } cases[] = {{"use shop;", "shop"}, {"USE shop;", "shop"}, {"use `a b`;", "a b"}, {"use `a;", "`a"},
                 {"use a`;", "a`"},     {"use `;", "`"},       {"use ``;", ""},       {"Use shop;", NULL},
                 {"use shop", NULL},    {"uses shop;", NULL},  {"use ;", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int cr = 0; cr <= 1; cr++) {
            char text[1000];
            struct qt_slow_event e;
            size_t used;
            snprintf(text, sizeof text, HEAD "%s%s" SET "SELECT 1;\n" NEXT, cases[i].line, cr ? "\r\n" : "\n");
            CHECK_INT(parse(text, strlen(text), 0, 0, &e, &used), QT_SLOW_EVENT);
            if (cases[i].name == NULL) {
                CHECK(e.use.p == NULL);
                CHECK_INT(e.timestamp_s, -1);
                continue;
            }
            CHECK(e.use.p != NULL);
            CHECK_INT(e.use.len, strlen(cases[i].name));
            CHECK(memcmp(e.use.p, cases[i].name, e.use.len) == 0);
            CHECK(is_body(&e, "SELECT 1"));
            /* A USE alone is a client statement. A USE before an administrator command is not a client statement. */
            snprintf(text, sizeof text, HEAD "%s\n" NEXT, cases[i].line);
            CHECK_INT(parse(text, strlen(text), 0, 0, &e, &used), QT_SLOW_EVENT);
            CHECK(e.use.p == NULL && e.body.len == strlen(cases[i].line) - 1);
            snprintf(text, sizeof text, HEAD "%s\n# administrator command: Quit;\n" NEXT, cases[i].line);
            CHECK_INT(parse(text, strlen(text), 0, 0, &e, &used), QT_SLOW_EVENT);
            CHECK(e.use.p != NULL && e.is_admin && is_body(&e, "Quit"));
        }
    struct qt_slow_event e;
    size_t used;
    static const char twice[] = HEAD "use a;\nuse b;\n" SET "SELECT 1;\n" NEXT;
    CHECK_INT(parse(twice, sizeof twice - 1, 0, 0, &e, &used), QT_SLOW_EVENT);
    CHECK(e.use.len == 1 && *e.use.p == 'a' && e.body.len > 6 && memcmp(e.body.p, "use b;", 6) == 0);
}

/* ---- end of the body ---- */

/* Literals that contain text like the next event. The parser detects such a literal with quote checks, and does not
 * detect it without quote checks. */
static void event_headers_inside_literals_do_not_end_the_body(void)
{
    static const struct {
        const char *open, *close;
        int is_open;
    } cases[] = {
        {"SELECT '", "'", 1},       {"SELECT \"", "\"", 1},      {"SELECT `", "`", 1},      {"SELECT /* ", "*/ 1", 1},
        {"SELECT 1 # ", "", 0},     {"SELECT 1 -- ", "", 0},     {"SELECT 1 --\t", "", 0},  {"SELECT 1 --x'", "'", 1},
        {"SELECT '\\'", "'", 1},    {"SELECT `\\`, '", "'", 1},  {"SELECT ''''", "", 0},    {"SELECT '''", "'", 1},
        {"SELECT /*! '", "'*/", 1}, {"SELECT /*M! '", "'*/", 1}, {"SELECT /*! 1", "*/", 0}, {"SELECT /**/'", "'", 1},
        {"SELECT '/*'", "", 0},     {"SELECT 1 #'\n'", "'", 1},  {"SELECT 1 -'", "'", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000], body[1000];
        struct qt_slow_event e;
        size_t used, first;
        snprintf(text, sizeof text, HEAD SET "%s;\n" NEXT SET "b%s;\n" NEXT, cases[i].open, cases[i].close);
        first = strlen(HEAD SET) + strlen(cases[i].open) + 2;
        CHECK_INT(parse(text, strlen(text), 1, 0, &e, &used), QT_SLOW_EVENT);
        CHECK_INT(used, first);
        CHECK_INT(e.ambiguous, 0);
        CHECK_INT(parse(text, strlen(text), 1, 1, &e, &used), QT_SLOW_EVENT);
        CHECK_INT(used, cases[i].is_open ? (long long)(strlen(text) - strlen(NEXT)) : (long long)first);
        CHECK_INT(e.ambiguous, cases[i].is_open);
        CHECK_INT(e.unbalanced, 0);
        CHECK_INT(e.truncated, 0);
        snprintf(body, sizeof body, "%s;\n" NEXT SET "b%s", cases[i].open, cases[i].close);
        if (cases[i].is_open)
            CHECK(is_body(&e, body));
        /* an unclosed literal: the event ends at the first possible place */
        snprintf(text, sizeof text, HEAD SET "%s;\n" NEXT SET "b;\n", cases[i].open);
        CHECK_INT(parse(text, strlen(text), 1, 1, &e, &used), QT_SLOW_EVENT);
        CHECK_INT(used, first);
        CHECK_INT(e.unbalanced, cases[i].is_open);
    }
}

static void last_event_of_a_file_is_read(void)
{
    static const struct {
        const char *text, *body;
        int truncated, header_follows;
    } cases[] = {{"SELECT 1;\n", "SELECT 1", 0, 0},
                 {"SELECT 1;\r\n", "SELECT 1", 0, 0},
                 {"SELECT 1;", "SELECT 1", 0, 0},
                 {"SELECT 1", "SELECT 1", 1, 0},
                 {"SELECT 1\n", "SELECT 1\n", 1, 0},
                 {"SELECT 1;\n;", "SELECT 1;\n", 0, 0},
                 {"SELECT 1;;\n", "SELECT 1;", 0, 0},
                 {"SELECT 1;\n# a comment\n, 2;\n" NEXT, "SELECT 1;\n# a comment\n, 2", 0, 1},
                 {"SELECT 1;\n/usr/sbin/mysqld, Version: 8.0.31 (x). started with:\n", "SELECT 1", 0, 0},
                 {"SELECT 1\n/usr/sbin/mysqld, Version: 8.0.31 (x). started with:\n", "SELECT 1", 1, 0},
                 {"SELECT 1;\n/usr/sbin/mysqld\n;\n", "SELECT 1;\n/usr/sbin/mysqld\n", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        struct qt_slow_event e;
        size_t used;
        snprintf(text, sizeof text, HEAD SET "%s", cases[i].text);
        CHECK_INT(parse(text, strlen(text), 1, 0, &e, &used), QT_SLOW_EVENT);
        if (!is_body(&e, cases[i].body))
            fprintf(stderr, "%zu: [%.*s]\n", i, (int)e.body.len, e.body.p);
        CHECK(is_body(&e, cases[i].body));
        CHECK_INT(e.truncated, cases[i].truncated);
        CHECK_INT(e.header_follows, cases[i].header_follows);
    }
}

/* ---- partial input ---- */

static const char *const WHOLE[] = {
    HEAD SET "SELECT 1;\n" NEXT,
    HEAD "use shop;\n" SET "UPDATE t SET a = '# Time: x\n';\n" NEXT,
    HEAD "use `shop`;\nSET last_insert_id=3,insert_id=4,timestamp=5;\nINSERT 1;\n" NEXT,
    HEAD "SET timestamp=5;\n" NEXT,
    HEAD "use shop;\n" NEXT,
    HEAD SET "# administrator command: Ping;\n" NEXT,
    HEAD NEXT,
    HEAD SET "SELECT 1;\n# a comment\n# another;\n" NEXT,
    HEAD SET "SELECT 1;\n/usr/sbin/mysqld, Version: 8.0.31 (x). started with:\nTcp port: 3306  Unix socket: s\n",
    HEAD SET "SELECT ';\n" NEXT SET "b';\n" NEXT,
    HEAD "Tmp_tables: 3  Tmp_disk_tables: 1\n" SET "SELECT 1;\n" NEXT,
    "# User@Host: u[u] @ h []\n# Schema: shop  Last_errno: 3  Killed: 0\n# Query_time: 1\n# Bytes_sent: 77\n" SET
    "SELECT 1;\n" NEXT,
};

static int are_same(const struct qt_slow_event *a, const struct qt_slow_event *b)
{
    const struct qt_span *const s[] = {&a->user, &a->host, &a->address, &a->schema, &a->use, &a->body, &a->time_text};
    const struct qt_span *const t[] = {&b->user, &b->host, &b->address, &b->schema, &b->use, &b->body, &b->time_text};
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        if (s[i]->p != t[i]->p || s[i]->len != t[i]->len)
            return 0;
    return a->query_ns == b->query_ns && a->lock_ns == b->lock_ns && a->bytes_sent == b->bytes_sent &&
           a->timestamp_s == b->timestamp_s && a->insert_id == b->insert_id && a->errno_ == b->errno_ &&
           a->last_insert_id == b->last_insert_id && a->is_admin == b->is_admin && a->killed == b->killed &&
           a->truncated == b->truncated && a->ambiguous == b->ambiguous && a->unbalanced == b->unbalanced &&
           a->header_follows == b->header_follows && a->unknown_line == b->unknown_line;
}

/* Each prefix of an event is incomplete or gives the complete event, never a different event. */
static void prefix_of_an_event_is_incomplete_or_the_same_event(void)
{
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++)
        for (int quotes = 0; quotes <= 1; quotes++) {
            struct qt_slow_event whole, e;
            size_t n = strlen(WHOLE[i]), used, all;
            CHECK_INT(parse(WHOLE[i], n, 0, quotes, &whole, &all), QT_SLOW_EVENT);
            CHECK(all <= n);
            int known = 0;
            for (size_t len = 0; len < n; len++) {
                enum qt_slow_result found = parse(WHOLE[i], len, 0, quotes, &e, &used);
                CHECK(found == QT_SLOW_MORE || found == QT_SLOW_EVENT);
                if (found != QT_SLOW_EVENT) {
                    CHECK(!known); /* a decision is never revoked */
                    continue;
                }
                known = 1;
                CHECK_INT(used, all);
                CHECK(are_same(&e, &whole));
            }
        }
}

/* At the end of a file, each prefix of an event is an event or unparsed lines. */
static void prefix_of_an_event_is_read_at_the_end_of_a_file(void)
{
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++)
        for (size_t len = 1; len <= strlen(WHOLE[i]); len++) {
            struct qt_slow_event e;
            size_t used = 0;
            enum qt_slow_result found = parse(WHOLE[i], len, 1, 0, &e, &used);
            CHECK(found == QT_SLOW_EVENT || found == QT_SLOW_GARBAGE || found == QT_SLOW_SKIP);
            CHECK(used > 0 && used <= len);
        }
}

static void other_lines_are_skipped_or_unparsed(void)
{
    static const struct {
        const char *text;
        enum qt_slow_result is;
        size_t used;
    } cases[] = {{"\n", QT_SLOW_SKIP, 1},
                 {"\r\n", QT_SLOW_SKIP, 2},
                 {"SELECT 1;\n", QT_SLOW_GARBAGE, 10},
                 {"# nothing\n", QT_SLOW_GARBAGE, 10},
                 {"# Time: x\n# nothing\nx\n", QT_SLOW_GARBAGE, 10},
                 {"Tcp port: 3306  Unix socket: s\n", QT_SLOW_SKIP, 31},
                 {"/x/mysqld, Version: 8.0.31 (x). started with:\n", QT_SLOW_SKIP, 46}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qt_slow_event e;
        size_t used;
        CHECK_INT(parse(cases[i].text, strlen(cases[i].text), 1, 0, &e, &used), cases[i].is);
        CHECK_INT(used, cases[i].used);
    }
}

int main(void)
{
    RUN(set_line_of_the_server_is_recognized);
    RUN(use_lines_name_the_schema);
    RUN(event_headers_inside_literals_do_not_end_the_body);
    RUN(last_event_of_a_file_is_read);
    RUN(prefix_of_an_event_is_incomplete_or_the_same_event);
    RUN(prefix_of_an_event_is_read_at_the_end_of_a_file);
    RUN(other_lines_are_skipped_or_unparsed);
    return 0;
}

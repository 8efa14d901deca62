/* SPDX-License-Identifier: Apache-2.0 */
/* If the session mode is unknown, a text counts as the most dangerous of its possible readings. */
#include "sql/readings.h"

#include "check.h"
#include "sql/lexer.h"

enum { READINGS = 4, BACKSLASH_OUTSIDE = 1, OPEN = 2 };

static uint64_t state = 11;

static size_t below(size_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(state >> 33) % n;
}

/* ---- possible readings ---- */

static int has(const struct qt_session_mode *way, size_t n, unsigned reading, unsigned charset)
{
    int found = 0;
    for (size_t i = 0; i < n; i++) {
        found += way[i].reading == reading && way[i].charset == charset;
        CHECK_INT(way[i].known, QT_KNOWS_ALL);
    }
    return found;
}

/* Returns each reading that fits the known settings once, except the session's own reading. */
static void all_matching_readings_are_returned_once(void)
{
    for (unsigned known = 0; known <= QT_KNOWS_ALL; known++)
        for (unsigned own = 0; own < READINGS * QT_CHARSETS; own++) {
            struct qt_session_mode mode = {(uint8_t)(own % READINGS), (uint8_t)(own / READINGS), (uint8_t)known};
            struct qt_session_mode way[QT_MAX_WAYS];
            size_t n = qt_other_ways(mode, way), expected = 0;
            for (unsigned at = 0; at < READINGS * QT_CHARSETS; at++) {
                unsigned reading = at % READINGS, charset = at / READINGS;
                int is = at != own && (!(known & 1) || ((reading ^ mode.reading) & 1) == 0) &&
                         (!(known & 2) || ((reading ^ mode.reading) & 2) == 0) &&
                         (!(known & QT_KNOWS_CHARSET) || charset == mode.charset);
                CHECK_INT(has(way, n, reading, charset), is);
                expected += (size_t)is;
            }
            CHECK_INT(n, expected);
        }
}

/* ---- bytes that make readings differ ---- */

static void significant_bytes_are_detected(void)
{
    for (int byte = 0; byte < 256; byte++)
        for (size_t len = 0; len <= 4; len++)
            for (size_t at = 0; at < 6; at++) {
                char *p = malloc(8); /* significant bytes follow the text */
                CHECK(p != NULL);
                memset(p, 'a', 8);
                p[at] = (char)byte;
                CHECK_INT(qt_holds_high_blank(p, len), at < len && (byte == 0xA0 || byte == 0xFF));
                for (int next = 0; next < 256; next++) {
                    p[at + 1] = (char)next;
                    int is = byte >= 0x80 && (next == '\\' || next == '`') && at + 1 < len;
                    CHECK_INT(qt_holds_wide(p, len), is);
                }
                free(p);
            }
}

/* ---- the most dangerous reading ---- */

struct verdict {
    int klass, danger, possible;
};

static int rank(int klass)
{
    static const int RANK[] = {[QT_CLASS_READ] = 0,  [QT_CLASS_SESSION] = 1, [QT_CLASS_TRANSACTION] = 2,
                               [QT_CLASS_WRITE] = 3, [QT_CLASS_DDL] = 4,     [QT_CLASS_ADMIN] = 5};
    return RANK[klass];
}

/* Returns the faults of a reading. BACKSLASH_OUTSIDE: a backslash outside of quotes, which is a syntax error on every
 * server. OPEN: an unclosed quote. */
static int faults(const struct qt_keywords *keywords, struct qt_session_mode mode, const char *sql, size_t len)
{
    struct qt_lexer lexer;
    struct qt_token t;
    int found = 0;
    qt_lexer_init(&lexer, keywords, sql, len);
    lexer.reading = mode.reading;
    lexer.charset = mode.charset;
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t))
        if (t.kind == QT_T_OPERATOR && *t.p == '\\' && !(t.p + 1 < sql + len && t.p[1] == 'N'))
            found |= BACKSLASH_OUTSIDE;
    return found | (lexer.open_quote != 0 && lexer.open_quote != '*' ? OPEN : 0);
}

static struct qt_statement normalized(struct qt_normalizer *n, struct qt_session_mode mode, const char *sql, size_t len)
{
    struct qt_statement s;
    CHECK_INT(qt_normalize(n, &mode, sql, len, &s, NULL), QT_OK);
    return s;
}

static void take_worse(struct verdict *all, struct verdict one)
{
    if (rank(one.klass) > rank(all->klass))
        all->klass = one.klass;
    if (one.danger != 0 && (all->danger == 0 || one.danger < all->danger))
        all->danger = one.danger;
}

static size_t any_text(char *to, size_t room)
{
    static const char *const FIRST[] = {"SELECT ", "UPDATE t SET a = ", "SET @a = ", "DO "};
    static const char *const PIECES[] = {
        "'",          "'",   "\"",       "\"",     "`",     "\\",   "\\",   "a",   " ",  "b,",
        "--\n",       "#\n", "\x81",     "\x81\\", "\xbf`", "\xA0", "\xFF", "\\N", "''", " INTO OUTFILE ",
        "LOAD_FILE(", ")",   "SLEEP(1)", "/*",     "*/"};
    size_t len = (size_t)snprintf(to, room, "%s", FIRST[below(4)]);
    for (size_t parts = 2 + below(14); parts > 0; parts--) {
        const char *piece = PIECES[below(sizeof PIECES / sizeof *PIECES)];
        len += (size_t)snprintf(to + len, room - len, "%s", piece);
    }
    return len;
}

/* For each text and each combination of known settings, the result is the worst of all readings that fit. */
static void worst_possible_reading_is_reported(void)
{
    struct qt_normalizer *n = qt_normalizer_new();
    struct qt_keywords keywords;
    long differ = 0;
    CHECK(n != NULL);
    qt_keywords_init(&keywords);
    for (int turn = 0; turn < 6000; turn++) {
        char sql[400];
        size_t len = any_text(sql, sizeof sql - 8);
        memset(sql + len, 'N', 8); /* an N after a final backslash would make \N */
        struct verdict of[READINGS * QT_CHARSETS];
        for (unsigned at = 0; at < READINGS * QT_CHARSETS; at++) {
            struct qt_session_mode mode = {(uint8_t)(at % READINGS), (uint8_t)(at / READINGS), QT_KNOWS_ALL};
            struct qt_statement s = normalized(n, mode, sql, len);
            of[at] = (struct verdict){s.klass, s.danger, faults(&keywords, mode, sql, len) == 0};
        }
        for (unsigned own = 0; own < READINGS * QT_CHARSETS; own++) {
            unsigned known = (unsigned)below(QT_KNOWS_ALL + 1);
            struct qt_session_mode mode = {(uint8_t)(own % READINGS), (uint8_t)(own / READINGS), (uint8_t)known};
            struct verdict expected = of[own];
            for (unsigned at = 0; at < READINGS * QT_CHARSETS; at++)
                if (of[at].possible && (((at ^ own) % READINGS) & known & 3) == 0 &&
                    (!(known & QT_KNOWS_CHARSET) || at / READINGS == own / READINGS))
                    take_worse(&expected, of[at]);
            differ += expected.klass != of[own].klass || expected.danger != of[own].danger;
            struct qt_statement s = normalized(n, mode, sql, len);
            if (s.klass != expected.klass || s.danger != expected.danger)
                for (size_t i = 0; i < len; i++) /* the text may contain bytes above 127 */
                    fprintf(stderr, i + 1 < len ? "%02x" : "%02x\n", (unsigned char)sql[i]);
            CHECK_INT(s.klass, expected.klass);
            CHECK_INT(s.danger, expected.danger);
        }
    }
    CHECK(differ > 300); /* enough texts must depend on the reading */
    qt_normalizer_free(n);
}

/* A text is redacted if any possible reading contains a secret. A literal truncated by the log may also be a secret. */
static void secret_in_any_possible_reading_is_redacted(void)
{
    static const struct {
        const char *sql;
        int unknown, by_default, no_backslash; /* 1 = redacted */
    } cases[] = {
        {"SELECT '\\'; SET PASSWORD = 'x' -- '", 1, 0, 1},
        {"SELECT 'a\\', ''; SET PASSWORD = 'x' -- '", 1, 0, 1},
        {"SELECT 'it\\'s' FROM t", 0, 0, 0},
        {"SELECT '\\'; SET PASSWORD = 'x", 1, 0, 1},
        {"SELECT /*!99999 1; SET PASSWORD = 'x' */", 1, 1, 1},
        {"SELECT 1 /*!50800 ; SET PASSWORD = 'x' */", 1, 1, 1},
        {"SELECT 1 /*!50800 - 1 */", 0, 0, 0},
    };
    struct qt_normalizer *n = qt_normalizer_new();
    CHECK(n != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *sql = cases[i].sql;
        CHECK_INT(normalized(n, (struct qt_session_mode){0, 0, 0}, sql, strlen(sql)).redacted != NULL,
                  cases[i].unknown);
        CHECK_INT(normalized(n, (struct qt_session_mode){0, 0, 7}, sql, strlen(sql)).redacted != NULL,
                  cases[i].by_default);
        CHECK_INT(normalized(n, (struct qt_session_mode){1, 0, 7}, sql, strlen(sql)).redacted != NULL,
                  cases[i].no_backslash);
    }
    qt_normalizer_free(n);
}

int main(void)
{
    RUN(all_matching_readings_are_returned_once);
    RUN(significant_bytes_are_detected);
    RUN(worst_possible_reading_is_reported);
    RUN(secret_in_any_possible_reading_is_redacted);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and their expected text, class, danger, flags and redaction. The file also checks invariants over random
 * statements (fixed seed). */
#include <string.h>

#include "normalize_cases.h"
#include "querytape.h"
#include "secret_cases.h"
#include "check.h"
#include "test_normalize_util.h"

static struct checks checks;
static struct qt_normalizer *normalizer;

/* Copies the statement to a block of exactly its size, so that a sanitizer detects reads past the end. */
static struct qt_statement normalize(const char *sql, size_t len)
{
    static char *block;
    struct qt_statement out;
    memset(&out, 0x55, sizeof out);
    free(block);
    block = malloc(len ? len : 1);
    if (len)
        memcpy(block, sql, len);
    int code = qt_normalize(normalizer, NULL, block, len, &out, NULL);
    check(&checks, code == QT_OK, "qt_normalize returned %d", code);
    return out;
}

static int contains(const char *text, size_t len, const char *needle)
{
    size_t n = strlen(needle);
    for (size_t i = 0; i + n <= len; i++)
        if (memcmp(text + i, needle, n) == 0)
            return 1;
    return 0;
}

static void statements_are_normalized(void)
{
#define T(name, sql, text) {name, sql, sizeof sql - 1, text},
    static const struct {
        const char *name, *sql;
        size_t len;
        const char *text;
    } cases[] = {TEXT_CASES(T)};
#undef T
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qt_statement s = normalize(cases[i].sql, cases[i].len);
        int same = s.text_len == strlen(cases[i].text) && memcmp(s.text, cases[i].text, s.text_len) == 0;
        check(&checks, same, "%s: expected [%s], found [%.*s]", cases[i].name, cases[i].text, (int)s.text_len, s.text);
    }
}

static void statements_are_classified(void)
{
#define C(name, sql, class, danger, flags) {name, sql, class, danger, flags},
    static const struct {
        const char *name, *sql;
        int32_t class, danger;
        uint32_t flags;
    } cases[] = {CLASS_CASES(C)};
#undef C
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qt_statement s = normalize(cases[i].sql, strlen(cases[i].sql));
        check(&checks, s.klass == cases[i].class && s.danger == cases[i].danger && s.flags == cases[i].flags,
              "%s: expected class %d, danger %d, flags %u, found %d, %d, %u", cases[i].name, cases[i].class,
              cases[i].danger, cases[i].flags, s.klass, s.danger, s.flags);
        check(&checks, (s.redacted != NULL) == ((s.flags & QT_F_REDACTED) != 0), "%s: redacted", cases[i].name);
    }
}

#define Z(name, sql) {name, sql},
static const struct secret_case {
    const char *name, *sql;
} secret_cases[] = {SECRET_CASES(Z)};
#undef Z
#define N_SECRETS (sizeof secret_cases / sizeof *secret_cases)

static void secrets_are_redacted(void)
{
    for (size_t i = 0; i < N_SECRETS; i++) {
        struct qt_statement s = normalize(secret_cases[i].sql, strlen(secret_cases[i].sql));
        if (!check(&checks, s.redacted != NULL, "%s: expected to be redacted", secret_cases[i].name))
            continue;
        check(&checks, !contains(s.redacted, s.redacted_len, "hunter2"), "%s: the secret is in [%.*s]",
              secret_cases[i].name, (int)s.redacted_len, s.redacted);
        check(&checks, contains(s.redacted, s.redacted_len, "<redacted>"), "%s: nothing was replaced in [%.*s]",
              secret_cases[i].name, (int)s.redacted_len, s.redacted);
    }
    const char *sql = "SET PASSWORD /* x */ FOR  'u'@'%'='x', a=0xAB ;";
    const char *expected = "SET PASSWORD FOR '<redacted>'@'<redacted>'='<redacted>', a='<redacted>' ;";
    struct qt_statement s = normalize(sql, strlen(sql));
    check(&checks, s.redacted_len == strlen(expected) && memcmp(s.redacted, expected, s.redacted_len) == 0,
          "redacted text: expected [%s], found [%.*s]", expected, (int)s.redacted_len, s.redacted);
}

/* A statement is truncated at each byte of its secret. If the text is redacted, at most the first letters of the secret
 * remain. */
static void truncated_secrets_are_redacted(void)
{
    for (size_t i = 0; i < N_SECRETS; i++) {
        const char *sql = secret_cases[i].sql, *secret = strstr(sql, "hunter2");
        for (size_t len = (size_t)(secret - sql); len <= strlen(sql); len++) {
            struct qt_statement s = normalize(sql, len);
            check(&checks, s.redacted == NULL || !contains(s.redacted, s.redacted_len, "hunt"), "%s cut at %zu: [%.*s]",
                  secret_cases[i].name, len, (int)s.redacted_len, s.redacted);
        }
    }
}

static void open_quotes_are_detected(void)
{
    static const struct {
        const char *sql;
        int32_t open;
    } cases[] = {{"SELECT 'a", '\''},        {"SELECT \"a", '"'},   {"SELECT `a", '`'},     {"SELECT /* a", '*'},
                 {"SELECT /*! a", '*'},      {"SELECT /*+ a", '*'}, {"SELECT 'a\\'", '\''}, {"SELECT 'a''", '\''},
                 {"SELECT 'a'", 0},          {"-- 'a", 0},          {"SELECT x'a", '\''},   {"SELECT @`a", '`'},
                 {"SELECT /*! 'a */", '\''}, {"SELECT /*", '*'},    {"SELECT /", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qt_statement s = normalize(cases[i].sql, strlen(cases[i].sql));
        check(&checks, s.open_quote == cases[i].open, "%s: expected open quote %d, found %d", cases[i].sql,
              cases[i].open, s.open_quote);
    }
}

/* ---- invariants over random statements ---- */

struct text {
    char p[4096];
    size_t len;
};

static void add(struct text *t, const char *p)
{
    size_t n = strlen(p);
    if (t->len + n < sizeof t->p) {
        memcpy(t->p + t->len, p, n);
        t->len += n;
    }
}

static const char *pick(uint64_t *seed, const char *const *from, size_t n) { return from[random_below(seed, n)]; }

#define PICK(seed, list) pick(seed, list, sizeof(list) / sizeof *(list))

static const char *const shapes[] = {"SELECT a FROM t WHERE b=%",
                                     "INSERT INTO t VALUES (%,a,%),(%,%,%)",
                                     "SELECT * FROM t WHERE a IN (%,%) AND b<%",
                                     "UPDATE t SET a=%, b=f(%) WHERE c BETWEEN % AND %",
                                     "SELECT % + % - a FROM t LIMIT 5",
                                     "CALL p(%, %)",
                                     "SELECT a->% FROM t WHERE (a,b) IN ((%,%),(%,%))",
                                     "SET @a=%, b=%",
                                     "SELECT CASE WHEN a=% THEN % ELSE % END",
                                     "REPLACE INTO t VALUES ROW(%,%),ROW(%,%)",
                                     "SELECT /*+ X(%) */ a /*!50000 , % */ FROM t"};
static const char *const marked_literals[] = {
    "'zzmark'",         "\"zzmark\"",   "'it''s zzmark'",    "'\\'zzmark'",         "N'zzmark'",
    "_utf8mb4'zzmark'", "'a' 'zzmark'", "'zz\\\\' 'zzmark'", "DATE 'zzmark'",       "'--  zzmark'",
    "'/* zzmark'",      "'zzmark\n;'",  "X'zzmark'",         "_latin1\n\"zzmark\"", "'\xff\xfe zzmark'"};
static const char *const blanks[] = {" ", "\n", "\t ", "/* x */", "-- y\n", "#z'\n", "  ", "/**/ "};

/* Returns a text of the given shape. With `vary`, its literals, white space and comments are random. */
static struct text fill(uint64_t *seed, const char *shape, int vary)
{
    struct text t = {.len = 0};
    int in_hint = 0; /* a comment inside a hint would end the hint */
    for (; *shape; shape++) {
        char one[2] = {*shape, 0};
        in_hint = strncmp(shape, "/*+", 3) == 0 || (in_hint && strncmp(shape, "/ a", 3) != 0);
        if (*shape == '%')
            add(&t, vary ? PICK(seed, marked_literals) : "'x'");
        else if (*shape == ' ' && vary && !in_hint)
            add(&t, PICK(seed, blanks));
        else
            add(&t, one);
    }
    return t;
}

static void literals_do_not_appear_in_normalized_text(void)
{
    uint64_t seed = 20260101;
    for (size_t i = 0; i < 20000 / case_step(); i++) {
        const char *shape = PICK(&seed, shapes);
        struct text plain = fill(&seed, shape, 0), varied = fill(&seed, shape, 1);
        struct qt_statement s = normalize(plain.p, plain.len);
        uint64_t digest = s.digest;
        s = normalize(varied.p, varied.len);
        check(&checks, !contains(s.text, s.text_len, "zzmark"), "leaked: [%.*s]", (int)s.text_len, s.text);
        check(&checks, s.digest == digest, "white space or literals changed the digest: [%.*s] gave [%.*s]",
              (int)varied.len, varied.p, (int)s.text_len, s.text);
    }
}

/* Random bytes, and random pieces of the cases. Nothing is read past the end, and all results are in range. */
static void random_bytes_give_valid_results(void)
{
#define T(name, sql, text) {sql, sizeof sql - 1},
#define C(name, sql, class, danger, flags) {sql, sizeof sql - 1},
#define Z(name, sql) {sql, sizeof sql - 1},
    static const struct {
        const char *p;
        size_t len;
    } all[] = {TEXT_CASES(T) CLASS_CASES(C) SECRET_CASES(Z)};
    uint64_t seed = 7;
    for (size_t i = 0; i < 60000 / case_step(); i++) {
        struct text t = {.len = 0};
        for (size_t parts = 1 + random_below(&seed, 4); parts > 0; parts--) {
            size_t which = random_below(&seed, sizeof all / sizeof *all);
            size_t from = random_below(&seed, all[which].len + 1), n = random_below(&seed, all[which].len - from + 1);
            memcpy(t.p + t.len, all[which].p + from, n);
            t.len += n;
        }
        for (size_t n = random_below(&seed, 4); n > 0 && t.len > 0; n--)
            t.p[random_below(&seed, t.len)] = (char)random_next(&seed);
        struct qt_statement s = normalize(t.p, t.len);
        check(&checks, s.text_len <= 65536 && s.klass >= 0 && s.klass <= 5 && s.danger >= 0 && s.danger <= 13,
              "out of bounds: class %d, danger %d", s.klass, s.danger);
    }
}

static int are_same(const struct qt_statement *a, const struct qt_statement *b)
{
    return a->digest == b->digest && a->redacted_len == b->redacted_len && a->klass == b->klass &&
           a->danger == b->danger && a->actions == b->actions && a->flags == b->flags &&
           a->open_quote == b->open_quote && a->sets_mode == b->sets_mode;
}

/* Bytes after a text are not read. Each case is truncated at every place and read in several modes. The result must not
 * depend on the following byte. */
static void bytes_after_the_text_are_not_read(void)
{
#define T(name, sql, text) {sql, sizeof sql - 1},
#define C(name, sql, class, danger, flags) {sql, sizeof sql - 1},
#define Z(name, sql) {sql, sizeof sql - 1},
    static const struct {
        const char *p;
        size_t len;
    } all[] = {TEXT_CASES(T) CLASS_CASES(C) SECRET_CASES(Z)};
#undef T
#undef C
#undef Z
    static const struct qt_session_mode modes[] = {{0, 0, 0}, {0, 1, 7}, {3, 3, 7}};
    static const char behind[] = "'\"`\\*/-=(.0xN!+@\xbf";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t len = 0; len <= all[i].len && len < 200; len += case_step())
            for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
                char block[256] = {0};
                struct qt_statement first, found;
                memcpy(block, all[i].p, len);
                int code = qt_normalize(normalizer, &modes[m], block, len, &first, NULL);
                for (const char *byte = behind; *byte != '\0' && code == QT_OK; byte++) {
                    memset(block + len, *byte, 8);
                    code = qt_normalize(normalizer, &modes[m], block, len, &found, NULL);
                    check(&checks, are_same(&first, &found), "[%.*s] is another before [%c]", (int)len, block, *byte);
                }
                check(&checks, code == QT_OK, "qt_normalize returned %d", code);
            }
}

/* Normalizing a normalized or redacted text gives the same digest. A tape stores the digest and shows the redacted
 * text. */
static void redacted_text_has_the_same_digest(void)
{
    for (size_t i = 0; i < N_SECRETS; i++) {
        const char *sql = secret_cases[i].sql;
        struct qt_statement s = normalize(sql, strlen(sql));
        if (s.redacted == NULL || s.open_quote || strstr(sql, "`hunter2`") ||
            (strstr(sql, " hunter2") != NULL && strstr(sql, "hunter2") == strstr(sql, " hunter2") + 1) ||
            strchr(sql, '\\') || strstr(sql, "0xABC"))
            continue;
        uint64_t digest = s.digest;
        struct text redacted = {.len = 0};
        memcpy(redacted.p, s.redacted, s.redacted_len);
        redacted.len = s.redacted_len;
        s = normalize(redacted.p, redacted.len);
        check(&checks, s.digest == digest, "%s: redacted it becomes [%.*s]", secret_cases[i].name, (int)s.text_len,
              s.text);
    }
}

static char *repeated(const char *unit, size_t times, const char *head, size_t *len)
{
    size_t n = strlen(unit), h = strlen(head);
    char *p = malloc(h + n * times + 1);
    memcpy(p, head, h);
    for (size_t i = 0; i < times; i++)
        memcpy(p + h + i * n, unit, n);
    *len = h + n * times;
    return p;
}

/* Large inputs that would overflow a recursion, take superlinear time or exhaust memory. */
static void large_statements_are_normalized(void)
{
    static const struct {
        const char *head, *unit;
        size_t times;
    } cases[] = {{"SELECT ", "(", 3000000},
                 {"SELECT a IN ", "(", 3000000},
                 {"INSERT INTO t VALUES (1)", ",(2)", 3000000},
                 {"SELECT '", "x''", 3000000},
                 {"SELECT ", "a+", 3000000},
                 {"SELECT ", "-", 3000000},
                 {"SELECT ", "/*", 3000000},
                 {"SELECT a IN (1", ",2", 3000000},
                 {"", ";", 3000000},
                 {"SELECT ", "/*!99999 ", 500000},
                 {"SELECT a IN (", "(1),", 3000000},
                 {"SELECT ", "abcdefgh", 3000000},
                 {"SELECT `", "a-c", 3000000},
                 {"CREATE USER ", "'',", 3000000},
                 {"SELECT ", "_utf8 ", 3000000},
                 {"SELECT /*+ ", "(/*+ ", 500000},
                 {"SELECT ", "- /* x */", 1000000},
                 {"SELECT ", "SELECT /*+ x ", 300000},
                 {"SET ", "a=1,", 2000000},
                 {"SET @s='identi", "identi", 2000000},
                 {"VALUES (1)", ",ROW", 2000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len;
        char *sql = repeated(cases[i].unit, cases[i].times, cases[i].head, &len);
        struct qt_statement s = normalize(sql, len);
        check(&checks, s.text_len <= 65536, "%s...: a text of %zu bytes", cases[i].unit, s.text_len);
        free(sql);
    }
}

int main(void)
{
    normalizer = qt_normalizer_new();
    statements_are_normalized();
    statements_are_classified();
    secrets_are_redacted();
    truncated_secrets_are_redacted();
    open_quotes_are_detected();
    literals_do_not_appear_in_normalized_text();
    random_bytes_give_valid_results();
    bytes_after_the_text_are_not_read();
    redacted_text_has_the_same_digest();
    large_statements_are_normalized();
    qt_normalizer_free(normalizer);
    printf("normalize: %d checks, %d failed\n", checks.done, checks.failed);
    return checks.failed != 0;
}

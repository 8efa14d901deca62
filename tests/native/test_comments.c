/* SPDX-License-Identifier: Apache-2.0 */
/* Comments that only some servers execute. If servers interpret a text differently, the most dangerous interpretation
 * counts. */
#include "sql/lexer.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "querytape.h"

/* Beginnings of comments that only some servers execute. */
static const char *const BY_SOME[] = {
    "/*!!100000",    "/*!!13010", "/*M!!100000", "/*M!",       "/*M!100100", "/*M!50101", "/*T!",
    "/*T![feature]", "/*!50700",  "/*!50724",    "/*!80400",   "/*!99997",   "/*!100000", "/*!999999",
    "/*X!",          "/*m!",      "/*!~",        "/*!=80000 ", "/*!<80000 ", "/*!!",
};
#define N_BY_SOME (sizeof BY_SOME / sizeof *BY_SOME)

static struct qt_normalizer *normalizer;

static struct qt_statement read_text(const char *sql)
{
    struct qt_statement s;
    CHECK_INT(qt_normalize(normalizer, NULL, sql, strlen(sql), &s, NULL), QT_OK);
    return s;
}

static void comment_kind_depends_on_its_opening(void)
{
    static const struct {
        const char *text;
        int hintable;
        enum qt_comment kind;
        size_t opening;
    } CASES[] = {
        {"/* x */", 0, QT_COMMENT_SKIPPED, 0},
        {"/**/", 0, QT_COMMENT_SKIPPED, 0},
        {"/*", 1, QT_COMMENT_SKIPPED, 0},
        {"/*M x */", 0, QT_COMMENT_SKIPPED, 0},
        {"/*+ x */", 0, QT_COMMENT_SKIPPED, 0},
        {"/*+ x */", 1, QT_COMMENT_HINT, 3},
        {"/*+*/", 1, QT_COMMENT_HINT, 3},
        {"/*++ x */", 1, QT_COMMENT_EXECUTED_SOME, 3},
        {"/*++ x */", 0, QT_COMMENT_SKIPPED, 0},
        {"/*!", 0, QT_COMMENT_EXECUTED, 3},
        {"/*! x */", 0, QT_COMMENT_EXECUTED, 3},
        {"/*!x */", 0, QT_COMMENT_EXECUTED, 3},
        {"/*!(1) */", 0, QT_COMMENT_EXECUTED, 3},
        {"/*!5055 */", 0, QT_COMMENT_EXECUTED, 3},
        {"/*!40101 x */", 0, QT_COMMENT_EXECUTED, 8},
        {"/*!50699x */", 0, QT_COMMENT_EXECUTED, 8},
        {"/*!50700 x */", 0, QT_COMMENT_EXECUTED_SOME, 8},
        {"/*!401011 x */", 0, QT_COMMENT_EXECUTED_SOME, 9},
        {"/*!4010112 x */", 0, QT_COMMENT_EXECUTED_SOME, 9},
        {"/*M!40101 x */", 0, QT_COMMENT_EXECUTED_SOME, 9},
        {"/*M! x */", 0, QT_COMMENT_EXECUTED_SOME, 4},
        {"/*!!130100 x */", 0, QT_COMMENT_EXECUTED_SOME, 10},
        {"/*M!!130100 x */", 0, QT_COMMENT_EXECUTED_SOME, 11},
        {"/*T![a_b] x */", 0, QT_COMMENT_EXECUTED_SOME, 9},
        {"/*T! x */", 0, QT_COMMENT_EXECUTED_SOME, 4},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        size_t opening = 99;
        const char *text = CASES[i].text;
        enum qt_comment kind = qt_comment_at(text, text + strlen(text), CASES[i].hintable, &opening);
        if (kind != CASES[i].kind || opening != CASES[i].opening)
            fprintf(stderr, "%s: kind %d, opening %zu\n", text, (int)kind, opening);
        CHECK_INT(kind, CASES[i].kind);
        CHECK(opening == CASES[i].opening);
    }
}

/* If an unknown mark follows the `!` of an executable comment, some servers may execute the comment. The text is then
 * read with and without the comment. */
static void unknown_mark_may_be_executed_by_some_servers(void)
{
    for (const char *mark = "!#%&)+-./:<=>?[\\]^{|}~"; *mark; mark++) {
        char text[] = {'/', '*', '!', *mark, ' ', 0};
        size_t opening;
        CHECK_INT(qt_comment_at(text, text + 5, 0, &opening), QT_COMMENT_EXECUTED_SOME);
    }
}

static void possibly_executed_comment_is_checked_for_danger(void)
{
    for (size_t i = 0; i < N_BY_SOME; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT 1 %s INTO OUTFILE '/tmp/x' */", BY_SOME[i]);
        CHECK_INT(read_text(sql).danger, QT_DANGER_INTO_FILE);
    }
}

static void statement_hidden_by_a_quote_in_a_comment_is_checked(void)
{
    static const char QUOTES[] = "'\"`";
    for (size_t i = 0; i < N_BY_SOME; i++)
        for (const char *quote = QUOTES; *quote; quote++) {
            char sql[200];
            snprintf(sql, sizeof sql, "SELECT 1 %s %c */ INTO OUTFILE '/tmp/x' -- %c */", BY_SOME[i], *quote, *quote);
            CHECK_INT(read_text(sql).danger, QT_DANGER_INTO_FILE);
            snprintf(sql, sizeof sql, "SELECT 1 %s %c */; DROP TABLE t -- %c */", BY_SOME[i], *quote, *quote);
            CHECK_INT(read_text(sql).klass, QT_CLASS_DDL);
        }
}

/* MySQL ignores a comment whose mark is a letter, such as `M!`. The comment ends at the first star and slash. */
static void nested_comment_is_checked_for_danger(void)
{
    for (size_t i = 0; i < N_BY_SOME; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT 1 %s ' /* */ INTO OUTFILE '/tmp/x' -- ' */", BY_SOME[i]);
        if (BY_SOME[i][2] != '!')
            CHECK_INT(read_text(sql).danger, QT_DANGER_INTO_FILE);
        snprintf(sql, sizeof sql, "SELECT 1 %s ' /* */ */ INTO OUTFILE '/tmp/x' -- '", BY_SOME[i]);
        CHECK_INT(read_text(sql).danger, QT_DANGER_INTO_FILE);
    }
}

/* A hint ends at the first star and slash, even inside an open quote. This holds for MySQL 5.7 to 9 and MariaDB 10 and
 * 11. */
static void hint_ends_inside_an_open_quote(void)
{
    static const char *const VERBS[] = {"SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"};
    static const char *const HINTS[] = {"", "QB_NAME(", "SET_VAR(a = ", "x /* "};
    static const char QUOTES[] = "'\"`";
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS * 4; i++)
        for (const char *quote = QUOTES; *quote; quote++) {
            const char *verb = VERBS[i / 4], *hint = HINTS[i % 4];
            char sql[200], q = *quote;
            snprintf(sql, sizeof sql, "%s /*+ %s%c */ 1 INTO OUTFILE '/tmp/x' -- %c */", verb, hint, q, q);
            CHECK_INT(read_text(sql).danger, QT_DANGER_INTO_FILE);
            snprintf(sql, sizeof sql, "%s /*+ %s%c */ 1; DROP TABLE t -- %c */", verb, hint, q, q);
            CHECK_INT(read_text(sql).klass, QT_CLASS_DDL);
        }
}

static int shows(const struct qt_statement *s, const char *secret)
{
    size_t n = strlen(secret);
    const char *text = s->redacted;
    for (size_t i = 0; text != NULL && i + n <= s->redacted_len; i++)
        if (memcmp(text + i, secret, n) == 0)
            return 1;
    return text == NULL;
}

static void secrets_near_executable_comments_are_redacted(void)
{
    for (size_t i = 0; i < N_BY_SOME; i++) {
        char sql[300];
        snprintf(sql, sizeof sql, "SELECT 1 %s ' */; SET PASSWORD = 'hunter2' -- ' */", BY_SOME[i]);
        struct qt_statement s = read_text(sql);
        CHECK(!shows(&s, "hunter2"));
        snprintf(sql, sizeof sql, "CREATE USER u %s IDENTIFIED BY 'hunter2' */", BY_SOME[i]);
        s = read_text(sql);
        CHECK(!shows(&s, "hunter2"));
        snprintf(sql, sizeof sql, "CREATE USER u %s ' */ IDENTIFIED BY 'hunter2' -- ' */", BY_SOME[i]);
        s = read_text(sql);
        CHECK(!shows(&s, "hunter2"));
    }
}

int main(void)
{
    normalizer = qt_normalizer_new();
    CHECK(normalizer != NULL);
    RUN(comment_kind_depends_on_its_opening);
    RUN(unknown_mark_may_be_executed_by_some_servers);
    RUN(possibly_executed_comment_is_checked_for_danger);
    RUN(statement_hidden_by_a_quote_in_a_comment_is_checked);
    RUN(hint_ends_inside_an_open_quote);
    RUN(nested_comment_is_checked_for_danger);
    RUN(secrets_near_executable_comments_are_redacted);
    qt_normalizer_free(normalizer);
    return 0;
}

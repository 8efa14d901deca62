/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   CALL shop.pay(7, @a, NULL)  ─►  SET @querytape_1=7,@querytape_3=NULL
 *                                   CALL shop.pay(@querytape_1, @a,@querytape_3)
 */
#include "engine/call_variables.h"

#include <stdio.h>

#include "sql/keywords.h"
#include "sql/lexer.h"

#define MAX_ARGUMENTS 1000

struct call {
    struct qt_bytes *set, *call;
    const char *copied; /* end of the text that is already copied to `call` */
    int n, named, failed;
};

/* Handles the argument between `from` and `to`. Variables and empty arguments stay unchanged. */
static void take_argument(struct call *c, const char *from, const char *to, int tokens, int is_variable)
{
    char name[40];
    c->n++;
    if (tokens == 0 || (tokens == 1 && is_variable))
        return;
    int len = snprintf(name, sizeof name, "@querytape_%d", c->n);
    const char *before = c->named++ == 0 ? "SET " : ",";
    c->failed |= qt_bytes_add(c->set, before, strlen(before)) | qt_bytes_add(c->set, name, (size_t)len) |
                 qt_bytes_add(c->set, "=", 1) | qt_bytes_add(c->set, from, (size_t)(to - from)) |
                 qt_bytes_add(c->call, c->copied, (size_t)(from - c->copied)) |
                 qt_bytes_add(c->call, name, (size_t)len);
    c->copied = to;
}

/* Reads CALL name[.name] and the opening parenthesis. The next token is the first after the parenthesis. */
static int begins(struct qt_lexer *lexer)
{
    struct qt_token t;
    qt_lex(lexer, &t);
    if (t.kind != QT_T_WORD || t.keyword != QT_K_call)
        return 0;
    for (qt_lex(lexer, &t); t.kind == QT_T_WORD || t.kind == QT_T_QUOTED || t.kind == QT_T_DOT; qt_lex(lexer, &t))
        ;
    return t.kind == QT_T_OPEN;
}

/* Reads the arguments up to the closing parenthesis. Returns 1 if the parenthesis is found and at most a semicolon
 * follows. */
static int take_arguments(struct call *c, struct qt_lexer *lexer)
{
    struct qt_token t;
    const char *from = NULL, *to = NULL;
    int depth = 1, tokens = 0, is_variable = 0;
    for (qt_lex(lexer, &t); t.kind != QT_T_END && depth > 0; qt_lex(lexer, &t)) {
        depth += (t.kind == QT_T_OPEN) - (t.kind == QT_T_CLOSE);
        if (t.kind == QT_T_EXECUTABLE || t.kind == QT_T_SEMICOLON || c->n >= MAX_ARGUMENTS)
            return 0;
        if (depth == 0 || (depth == 1 && t.kind == QT_T_COMMA)) {
            take_argument(c, from, to, tokens, is_variable);
            tokens = 0;
            if (depth == 0)
                break;
            continue;
        }
        from = tokens++ == 0 ? t.p : from;
        to = t.p + t.len;
        is_variable = t.kind == QT_T_VARIABLE;
    }
    if (depth > 0)
        return 0;
    qt_lex(lexer, &t);
    if (t.kind == QT_T_SEMICOLON)
        qt_lex(lexer, &t);
    return t.kind == QT_T_END && lexer->open_quote == 0;
}

/* Parses the text as one sql_mode reads it. Returns 0 on success, 1 if the text is then no suitable CALL, and -1 when
 * out of memory. */
static int read_once(struct qt_bytes *set, struct qt_bytes *call, struct qt_lexer *lexer, const char *sql, size_t len)
{
    struct call c = {.set = set, .call = call, .copied = sql};
    set->len = call->len = 0;
    if (!begins(lexer) || !take_arguments(&c, lexer) || c.named == 0)
        return 1;
    c.failed |= qt_bytes_add(call, c.copied, (size_t)(sql + len - c.copied));
    return c.failed ? -1 : 0;
}

static int are_equal(const struct qt_bytes *a, const struct qt_bytes *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

int qt_call_with_variables(struct qt_bytes *set, struct qt_bytes *call, const char *sql, size_t len)
{
    struct qt_keywords keywords;
    struct qt_lexer lexer;
    struct qt_bytes other_set = {.len = 0}, other_call = {.len = 0};
    qt_keywords_init(&keywords);
    qt_lexer_init(&lexer, &keywords, sql, len);
    int code = read_once(set, call, &lexer, sql, len), saw = lexer.saw;
    if (saw & (QT_SAW_WIDE | QT_SAW_BLANK))
        code = code < 0 ? code : 1;
    for (uint8_t reading = 1; saw != 0 && code == 0 && reading <= (QT_READ_NO_BACKSLASH | QT_READ_ANSI); reading++) {
        qt_lexer_init(&lexer, &keywords, sql, len);
        lexer.reading = reading;
        int other = read_once(&other_set, &other_call, &lexer, sql, len);
        code = other < 0 || (other == 0 && !(are_equal(set, &other_set) && are_equal(call, &other_call))) ? 1 : 0;
    }
    qt_bytes_free(&other_set);
    qt_bytes_free(&other_call);
    return code;
}

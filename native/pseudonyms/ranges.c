/* SPDX-License-Identifier: Apache-2.0 */
/* Literals, comments and account hosts of a statement are values. All other text stays unchanged. Numbers after LIMIT,
 * OFFSET and INTERVAL, in hints and in DDL also stay. A SET without user variables stays unchanged. */
#include "pseudonyms/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "sql/lexer.h"
#include "sql/names.h"

/* One pass over a statement's tokens. */
struct pass {
    struct qt_ranges *out;
    const char *sql;
    struct qt_token before; /* the previous token */
    int keeps_numbers;      /* set in DDL until an inner statement begins */
    int counts;             /* after LIMIT, OFFSET or INTERVAL */
    int hint, other_way, failed;
};

static void add(struct pass *a, const char *p, size_t len, int radix)
{
    struct qt_ranges *r = a->out;
    if (len == 0 || a->failed)
        return;
    if (r->n == r->room) {
        size_t room = r->room > 0 ? r->room * 2 : 64;
        struct qt_range *more = realloc(r->range, room * sizeof *more);
        a->failed = more == NULL;
        if (a->failed)
            return;
        r->range = more;
        r->room = room;
    }
    r->range[r->n++] = (struct qt_range){(uint32_t)(p - a->sql), (uint32_t)len, (uint8_t)radix};
}

/* Handles the blanks and comments between two tokens. Optimizer hints are tokens. An executable comment is handled
 * where it is read as code. */
static void gap(struct pass *a, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\n' && p[i] != '\t' && p[i] != '\r') {
            size_t opening = 0;
            if (a->other_way && n - i > 3 && p[i] == '/' && p[i + 1] == '*')
                (void)qt_comment_at(p + i, p + n, 0, &opening);
            if (opening == 0)
                add(a, p, n, 10);
            return;
        }
}

/* 'text', "text", N'text', x'4D', b'01': adds the bytes between the quotes. The closing quote may be missing. */
static void string(struct pass *a, const char *p, size_t n)
{
    size_t from = 0;
    while (from < n && p[from] != '\'' && p[from] != '"' && p[from] != '`')
        from++;
    if (from == n) {
        add(a, p, n, 10);
        return;
    }
    char quote = p[from++];
    size_t len = n - from - (n > from && p[n - 1] == quote);
    char prefix = from > 1 ? qt_lower(*p) : 0;
    add(a, p + from, len, prefix == 'x' ? 16 : prefix == 'b' ? 2 : 10);
}

/* Adds a number as a value. One-digit numbers reveal nothing and stay. */
static void number(struct pass *a, const char *p, size_t n)
{
    if (n > 2 && p[0] == '0' && (qt_lower(p[1]) == 'x' || qt_lower(p[1]) == 'b'))
        add(a, p + 2, n - 2, qt_lower(p[1]) == 'x' ? 16 : 2);
    else if (n > 1)
        add(a, p, n, 10);
}

/* Returns 1 if the token is the host of an account, as in 'bob'@'10.0.0.1' or bob@localhost. A host directly follows
 * the user name; a variable does not. */
static int is_host(const struct pass *a, const struct qt_token *t)
{
    int name = a->before.kind == QT_T_STRING || a->before.kind == QT_T_QUOTED ||
               (a->before.kind == QT_T_WORD && a->before.keyword == QT_K_NONE);
    return name && t->len > 1 && a->before.p + a->before.len == t->p;
}

static void host(struct pass *a, const struct qt_token *t)
{
    if (t->p[1] == '\'' || t->p[1] == '"' || t->p[1] == '`')
        string(a, t->p + 1, t->len - 1);
    else
        add(a, t->p + 1, t->len - 1, 10);
}

/* Returns 1 for a word of DDL that begins an inner statement. The UPDATE of ON UPDATE does not count. */
static int begins_statement(const struct pass *a, const struct qt_token *t)
{
    static const char *const WORDS[] = {"select", "insert", "replace", "update", "delete", "begin", "call", NULL};
    return qt_name_is_any(t, WORDS) && !(a->before.kind == QT_T_WORD && qt_name_is(&a->before, "on"));
}

static void word(struct pass *a, const struct qt_token *t)
{
    static const char *const COUNTS[] = {"limit", "offset", "interval", NULL};
    a->counts = qt_name_is_any(t, COUNTS);
    if (a->keeps_numbers && begins_statement(a, t))
        a->keeps_numbers = 0;
}

static void token(struct pass *a, const struct qt_token *t)
{
    if (t->kind == QT_T_HINT || t->kind == QT_T_COMMENT_END)
        a->hint = t->kind == QT_T_HINT;
    else if (t->kind == QT_T_STRING)
        string(a, t->p, t->len);
    else if (t->kind == QT_T_VARIABLE && is_host(a, t))
        host(a, t);
    else if (t->kind == QT_T_NUMBER && !a->counts && !a->hint && !a->keeps_numbers)
        number(a, t->p, t->len);
    if (t->kind == QT_T_WORD)
        word(a, t);
    else if (t->kind != QT_T_NUMBER && t->kind != QT_T_COMMA)
        a->counts = 0;
    a->before = *t;
}

static void begin(struct qt_lexer *lexer, const struct qt_keywords *keywords, const char *p, size_t n,
                  struct qt_way way)
{
    qt_lexer_init(lexer, keywords, p, n);
    lexer->reading = way.reading;
    lexer->charset = way.charset;
    lexer->comments = way.comments;
}

/* Returns 1 for a SET without user variables and without a second statement.
 *
 * Server-wide settings (GLOBAL, PERSIST) are excluded, because they often contain an address, a path or a statement.
 * Their strings are values, but their numbers stay (`keeps_numbers`). */
static int keeps_all(const struct qt_keywords *keywords, const char *p, size_t n, struct qt_way way, int *keeps_numbers)
{
    static const char *const SERVER_WIDE[] = {"global", "persist", "persist_only", NULL};
    struct qt_lexer lexer;
    struct qt_token t;
    begin(&lexer, keywords, p, n, way);
    qt_lex(&lexer, &t);
    int keeps = t.kind == QT_T_WORD && qt_name_is(&t, "set"), server_wide = 0;
    for (; keeps && t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        if (t.kind == QT_T_WORD && qt_name_is_any(&t, SERVER_WIDE))
            server_wide = 1;
        keeps = t.kind != QT_T_VARIABLE && t.kind != QT_T_SEMICOLON;
    }
    *keeps_numbers = keeps && server_wide;
    return keeps && !server_wide;
}

int qt_ranges_find(struct qt_ranges *r, const struct qt_keywords *keywords, const char *p, size_t n, struct qt_way way)
{
    static const char *const DDL[] = {"create", "alter", "kill", NULL};
    struct pass a = {.out = r, .sql = p, .other_way = way.comments != 0};
    struct qt_lexer lexer;
    struct qt_token t;
    const char *behind = p; /* end of the previous token */
    int server_wide = 0, keeps = keeps_all(keywords, p, n, way, &server_wide);
    if (n > UINT32_MAX)
        return -1;
    r->n = 0;
    r->sound = 1;
    begin(&lexer, keywords, p, n, way);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END; qt_lex(&lexer, &t)) {
        if (a.before.p == NULL)
            a.keeps_numbers = server_wide || (t.kind == QT_T_WORD && qt_name_is_any(&t, DDL));
        gap(&a, behind, (size_t)(t.p - behind));
        behind = t.p + t.len;
        if (t.kind == QT_T_OPERATOR && *t.p == '\\' && (t.p + 1 >= p + n || t.p[1] != 'N'))
            r->sound = 0;
        token(&a, &t);
    }
    gap(&a, behind, (size_t)(p + n - behind));
    if (keeps)
        r->n = 0;
    r->ends = lexer.open_quote == 0 || lexer.open_quote == '*';
    r->saw = lexer.saw;
    r->saw_comments = lexer.saw_comments;
    return a.failed ? -1 : 0;
}

void qt_ranges_free(struct qt_ranges *r)
{
    free(r->range);
    r->range = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the values in SQL. A statement's literals and comments change; its structure does not: behind LIMIT, OFFSET and
 * INTERVAL, in hints and in DDL numbers stay, and a SET that touches no user variable stays as it is. */
#include "pseudonyms/sql.h"

#include <string.h>

#include "pseudonyms/state.h"
#include "pseudonyms/value.h"
#include "sql/lexer.h"
#include "sql/names.h"

/* Between two tokens there are blanks and comments; those of optimizer hints are tokens. */
static int gap(struct qt_pseudonyms *s, char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\n' && p[i] != '\t' && p[i] != '\r')
            return qt_pseudonyms_value(s, p, n);
    return 0;
}

/* 'text', "text", N'text', x'4D', b'01': what is between the quotes, which may lack its end. */
static int string(struct qt_pseudonyms *s, char *p, size_t n)
{
    size_t from = 0;
    while (from < n && p[from] != '\'' && p[from] != '"')
        from++;
    if (from == n)
        return qt_pseudonyms_value(s, p, n);
    char quote = p[from++];
    size_t len = n - from - (n > from && p[n - 1] == quote);
    char prefix = from > 1 ? qt_lower(*p) : 0;
    if (prefix == 'x' || prefix == 'b')
        return qt_pseudonyms_digits(s, p + from, len, prefix == 'x' ? 16 : 2);
    return qt_pseudonyms_value(s, p + from, len);
}

static int number(struct qt_pseudonyms *s, char *p, size_t n)
{
    if (n > 2 && p[0] == '0' && (qt_lower(p[1]) == 'x' || qt_lower(p[1]) == 'b'))
        return qt_pseudonyms_digits(s, p + 2, n - 2, qt_lower(p[1]) == 'x' ? 16 : 2);
    return qt_pseudonyms_value(s, p, n);
}

/* What the first look at a statement tells. */
struct outline {
    int keeps_all, keeps_numbers;
};

static struct outline look(struct qt_pseudonyms *s, const char *p, size_t n)
{
    struct outline o = {0, 0};
    struct qt_lexer lexer;
    struct qt_token t;
    qt_lexer_init(&lexer, &s->keywords, p, n);
    qt_lex(&lexer, &t);
    o.keeps_all = t.kind == QT_T_WORD && qt_name_is(&t, "set");
    o.keeps_numbers = t.kind == QT_T_WORD &&
                      (qt_name_is(&t, "create") || qt_name_is(&t, "alter") || qt_name_is(&t, "kill"));
    for (; o.keeps_all && t.kind != QT_T_END; qt_lex(&lexer, &t))
        o.keeps_all = t.kind != QT_T_VARIABLE && t.kind != QT_T_SEMICOLON;
    return o;
}

int qt_pseudonyms_statement(struct qt_pseudonyms *s, char *p, size_t n)
{
    struct outline o = look(s, p, n);
    struct qt_lexer lexer;
    struct qt_token t;
    int bad = 0, counts = 0, hint = 0;
    char *behind = p; /* the end of the token before */

    if (o.keeps_all)
        return 0;
    qt_lexer_init(&lexer, &s->keywords, p, n);
    for (qt_lex(&lexer, &t); t.kind != QT_T_END && !bad; qt_lex(&lexer, &t)) {
        char *at = p + (t.p - p);
        bad |= gap(s, behind, (size_t)(at - behind));
        behind = at + t.len;
        if (t.kind == QT_T_HINT || t.kind == QT_T_COMMENT_END)
            hint = t.kind == QT_T_HINT;
        else if (t.kind == QT_T_STRING)
            bad |= string(s, at, t.len);
        else if (t.kind == QT_T_NUMBER && !counts && !hint && !o.keeps_numbers)
            bad |= number(s, at, t.len);
        if (t.kind != QT_T_NUMBER && t.kind != QT_T_COMMA)
            counts = t.kind == QT_T_WORD &&
                     (qt_name_is(&t, "limit") || qt_name_is(&t, "offset") || qt_name_is(&t, "interval"));
    }
    return bad | gap(s, behind, (size_t)(p + n - behind)) ? -1 : 0;
}

/* A server quotes with ' what it was given; names too, which then change with the rest. */
int qt_pseudonyms_message(struct qt_pseudonyms *s, char *p, size_t n)
{
    char *end = p + n, *open;
    int bad = 0;
    while (!bad && p < end && (open = memchr(p, '\'', (size_t)(end - p))) != NULL) {
        char *close = memchr(open + 1, '\'', (size_t)(end - open - 1));
        if (close == NULL)
            close = end;
        bad = qt_pseudonyms_value(s, open + 1, (size_t)(close - open - 1));
        p = close < end ? close + 1 : end;
    }
    return bad;
}

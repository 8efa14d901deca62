/* SPDX-License-Identifier: Apache-2.0 */
/* Lexical structure: reference manuals of MySQL 8.4 ("Language Structure") and MariaDB. Quotes follow the default sql_mode:
 * "..." is a string and a backslash escapes. A NUL byte is white space, as the servers take it. */
#include "lexer.h"

#include <string.h>

/* Made of QT_C_*: identifiers are letters, digits, _ $ and every byte above 127. */
const uint8_t qt_char_class[256] = {
    12,  8,  8,  8,  8,  8,  8,  8,  8, 12, 12, 12, 12, 12,  8,  8,
     8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,  8,
    12,  8,  0,  8,  9,  8,  8,  0,  8,  8,  8,  8,  8,  8,  8,  8,
    11, 11, 11, 11, 11, 11, 11, 11, 11, 11,  8,  8,  8,  8,  8,  8,
     8,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  8,  0,  8,  8,  9,
     0,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  8,  8,  8,  8,  8,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
     9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,  9,
};

#define IS(c, what) (qt_char_class[(unsigned char)(c)] & (what))

void qt_lexer_init(struct qt_lexer *l, const char *sql, size_t len)
{
    l->at = sql;
    l->end = sql + len;
    l->in_comment = 0;
    l->open_quote = 0;
}

/* From behind the opening quote to behind the closing one. A doubled quote is one inside. */
static const char *skip_quoted(struct qt_lexer *l, const char *p, char quote)
{
    for (;;) {
        while (p < l->end && IS(*p, QT_C_PLAIN))
            p++;
        if (p >= l->end) {
            l->open_quote = quote;
            return l->end;
        }
        if (*p == '\\' && quote != '`') {
            p += p + 1 < l->end ? 2 : 1;
        } else if (*p == quote) {
            if (p + 1 >= l->end || p[1] != quote)
                return p + 1;
            p += 2;
        } else {
            p++;
        }
    }
}

static const char *skip_line(const struct qt_lexer *l, const char *p)
{
    const char *newline = memchr(p, '\n', (size_t)(l->end - p));
    return newline != NULL ? newline + 1 : l->end;
}

static const char *skip_comment(struct qt_lexer *l, const char *p)
{
    while ((p = memchr(p, '*', (size_t)(l->end - p))) != NULL) {
        if (p + 1 < l->end && p[1] == '/')
            return p + 2;
        p++;
    }
    l->open_quote = '*';
    return l->end;
}

/* At a slash and a star. Returns 1 where it opens something whose content is tokens. */
static int comment(struct qt_lexer *l, const char *p, struct qt_token *t)
{
    size_t left = (size_t)(l->end - p);
    t->p = p;
    if (left > 2 && p[2] == '+') {
        t->kind = QT_T_HINT;
        t->len = 3;
    } else if (left > 2 && (p[2] == '!' || (left > 3 && p[2] == 'M' && p[3] == '!'))) {
        const char *at = p + (p[2] == '!' ? 3 : 4);
        for (int n = 0; n < 6 && at < l->end && IS(*at, QT_C_DIGIT); n++)
            at++;
        t->kind = QT_T_EXECUTABLE;
        t->len = (size_t)(at - p);
    } else {
        l->at = skip_comment(l, p + 2);
        return 0;
    }
    l->in_comment = 1;
    l->at = p + t->len;
    return 1;
}

/* Skips white space and comments; returns 1 where a token of a comment was made. */
static int skip_blank(struct qt_lexer *l, struct qt_token *t)
{
    for (;;) {
        const char *p = l->at;
        while (p < l->end && IS(*p, QT_C_SPACE))
            p++;
        l->at = p;
        if (p >= l->end)
            return 0;
        if (*p == '#')
            l->at = skip_line(l, p);
        else if (*p == '-' && p + 1 < l->end && p[1] == '-' && (p + 2 == l->end || (unsigned char)p[2] <= ' '))
            l->at = skip_line(l, p);
        else if (*p == '/' && p + 1 < l->end && p[1] == '*') {
            if (comment(l, p, t))
                return 1;
        } else
            return 0;
    }
}

static const char *skip_ident(const struct qt_lexer *l, const char *p)
{
    while (p < l->end && IS(*p, QT_C_IDENT))
        p++;
    return p;
}

static const char *skip_digits(const struct qt_lexer *l, const char *p)
{
    while (p < l->end && IS(*p, QT_C_DIGIT))
        p++;
    return p;
}

static int is_radix(const char *p, const char *end, char kind)
{
    if (end - p < 3)
        return 0;
    for (p += 2; p < end; p++) {
        char c = qt_lower(*p);
        if (kind == 'b' ? (c != '0' && c != '1') : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
    }
    return 1;
}

/* At a digit, or a dot before one. An identifier may begin with digits: 1a. */
static const char *number(const struct qt_lexer *l, const char *p, int *kind)
{
    const char *word = skip_ident(l, p), *at = skip_digits(l, p);
    *kind = QT_T_NUMBER;
    if (at < word) {
        char c = qt_lower(*at);
        if (at == p + 1 && *p == '0' && (c == 'x' || c == 'b') && is_radix(p, word, c))
            return word;
        if (c == 'e') {
            const char *exponent = at + 1;
            if (exponent < l->end && (*exponent == '+' || *exponent == '-'))
                exponent++;
            const char *after = skip_digits(l, exponent);
            if (after > exponent && (after == l->end || !IS(*after, QT_C_IDENT)))
                return after;
        }
        *kind = QT_T_WORD;
        return word;
    }
    if (at < l->end && *at == '.') {
        at = skip_digits(l, at + 1);
        if (at < l->end && qt_lower(*at) == 'e') {
            const char *exponent = at + 1;
            if (exponent < l->end && (*exponent == '+' || *exponent == '-'))
                exponent++;
            const char *after = skip_digits(l, exponent);
            if (after > exponent)
                return after;
        }
    }
    return at;
}

/* A word that is really the prefix of a literal: N'..' X'..' B'..' _latin1'..' _binary 0xAB. NULL where it is none. */
static const char *prefixed(struct qt_lexer *l, const char *p, const char *word)
{
    char first = qt_lower(*p);
    const char *at = word;
    if (word == p + 1 && (first == 'n' || first == 'x' || first == 'b'))
        return at < l->end && *at == '\'' ? skip_quoted(l, at + 1, '\'') : NULL;
    if (first != '_' || word == p + 1)
        return NULL;
    while (at < l->end && IS(*at, QT_C_SPACE))
        at++;
    if (at >= l->end)
        return NULL;
    if (*at == '\'' || *at == '"')
        return skip_quoted(l, at + 1, *at);
    if ((qt_lower(*at) == 'x' || qt_lower(*at) == 'b') && at + 1 < l->end && at[1] == '\'')
        return skip_quoted(l, at + 2, '\'');
    if (*at == '0' && at + 1 < l->end && (qt_lower(at[1]) == 'x' || qt_lower(at[1]) == 'b'))
        return skip_ident(l, at);
    return NULL;
}

static const char *variable(struct qt_lexer *l, const char *p, int *kind)
{
    *kind = QT_T_VARIABLE;
    if (p + 1 < l->end && p[1] == '@') {
        *kind = QT_T_SYSTEM;
        p = skip_ident(l, p + 2);
        while (p + 1 < l->end && *p == '.' && IS(p[1], QT_C_IDENT))
            p = skip_ident(l, p + 1);
        return p;
    }
    if (p + 1 < l->end && (p[1] == '\'' || p[1] == '"' || p[1] == '`'))
        return skip_quoted(l, p + 2, p[1]);
    for (p++; p < l->end && (IS(*p, QT_C_IDENT) || *p == '.'); p++)
        ;
    return p;
}

static size_t operator_length(const char *p, const char *end)
{
    static const char *const longer[] = {"<=>", "->>", ":=", "->", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&"};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t len = i < 2 ? 3 : 2;
        if (p[0] == longer[i][0] && (size_t)(end - p) >= len && memcmp(p, longer[i], len) == 0)
            return len;
    }
    return 1;
}

static const char *punctuation(struct qt_lexer *l, const char *p, int *kind)
{
    switch (*p) {
    case '(':
        *kind = QT_T_OPEN;
        return p + 1;
    case ')':
        *kind = QT_T_CLOSE;
        return p + 1;
    case ',':
        *kind = QT_T_COMMA;
        return p + 1;
    case ';':
        *kind = QT_T_SEMICOLON;
        return p + 1;
    case '?':
        *kind = QT_T_PARAM;
        return p + 1;
    case '*':
        if (l->in_comment && p + 1 < l->end && p[1] == '/') {
            l->in_comment = 0;
            *kind = QT_T_COMMENT_END;
            return p + 2;
        }
        break;
    default:
        break;
    }
    *kind = QT_T_OPERATOR;
    return p + operator_length(p, l->end);
}

void qt_lex(struct qt_lexer *l, struct qt_token *t)
{
    if (skip_blank(l, t))
        return;
    const char *p = l->at, *after;
    t->p = p;
    t->len = 0;
    t->kind = QT_T_END;
    if (p >= l->end) {
        if (l->in_comment)
            l->open_quote = '*';
        return;
    }
    if (IS(*p, QT_C_IDENT) && !IS(*p, QT_C_DIGIT)) {
        after = skip_ident(l, p);
        t->kind = QT_T_WORD;
        if (after < l->end && (after - p == 1 || *p == '_')) {
            const char *literal = prefixed(l, p, after);
            if (literal != NULL) {
                after = literal;
                t->kind = QT_T_STRING;
            }
        }
    } else if (*p == '\'' || *p == '"') {
        t->kind = QT_T_STRING;
        after = skip_quoted(l, p + 1, *p);
    } else if (*p == '`') {
        t->kind = QT_T_QUOTED;
        after = skip_quoted(l, p + 1, '`');
    } else if (IS(*p, QT_C_DIGIT) || (*p == '.' && p + 1 < l->end && IS(p[1], QT_C_DIGIT))) {
        after = number(l, p, &t->kind);
    } else if (*p == '@') {
        after = variable(l, p, &t->kind);
    } else if (*p == '.') {
        t->kind = QT_T_DOT;
        after = p + 1;
    } else {
        after = punctuation(l, p, &t->kind);
    }
    t->len = (size_t)(after - p);
    l->at = after;
}

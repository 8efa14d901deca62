/* SPDX-License-Identifier: Apache-2.0 */
/* State of the parser while it reads a statement: types and inline helpers for the files in this directory.
 *
 * Columns are resolved after the whole statement is parsed, because the FROM clause comes after the select list. Until
 * then a column keeps its scope and its qualifier as written. */
#ifndef QT_GRAMMAR_STATE_H
#define QT_GRAMMAR_STATE_H

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "grammar/words.h"
#include "sql/lexer.h"

enum { QT_DEPTH = 200 }; /* largest nesting of expressions and queries */

/* QT_BAD_NOT: the parser does not understand the current token. QT_BAD_TOO_MUCH: the parser backtracked too often and
 * used up `steps`. */
enum qt_bad { QT_BAD_NOT = 1, QT_BAD_NO_MEMORY, QT_BAD_TOO_MUCH };
enum qt_role { QT_R_NONE, QT_R_FILTER, QT_R_RANGE, QT_R_JOIN, QT_R_GROUP, QT_R_ORDER, QT_R_SET, QT_R_DROPPED };
enum qt_access { QT_A_READ, QT_A_LOCK, QT_A_WRITE };

struct qt_table_use {
    struct qt_token schema, name, alias; /* len 0: missing */
    int32_t scope;
    uint8_t derived; /* a subquery, CTE or table function, not a table of the server */
    uint8_t access;
};

struct qt_column_use {
    struct qt_token schema, table, name;
    const char *op;                 /* operator as reported: =, <, in, ... */
    const char *value, *value_end;  /* the literals that the column is compared with, as written */
    int64_t parameter;              /* number of the placeholder in place of a literal, from 0; -1: none */
    int32_t scope, other, table_at; /* `other` is the joined column, `table_at` the known table; -1 = none */
    uint8_t role;                   /* enum qt_role */
    uint8_t plain;                  /* the column is a whole side of its comparison, so an index could be used */
    uint8_t all;                    /* the condition applies to every row: no OR or NOT around it */
};

struct qt_item { /* one item of a select list */
    struct qt_token alias;
    int32_t scope, column; /* column: index if the item is only a column, else -1 */
};

struct qt_scope {
    int32_t parent;
    uint8_t lock; /* has FOR UPDATE or LOCK IN SHARE MODE */
};

/* Growable arrays of the structs in this file. */
struct qt_grammar_lists {
    struct qt_bytes tables, columns, items, scopes, ctes; /* ctes holds struct qt_token */
};

/* The LIMIT of a top-level query: its row count as written, or its placeholder. */
struct qt_limit {
    const char *value, *value_end; /* NULL: no LIMIT, or not a literal */
    int64_t parameter;             /* number of the placeholder, from 0; -1: none */
    int n;                         /* number of LIMITs at the top level of the text */
};

struct qt_side;

struct qt_grammar {
    const struct qt_words *words;
    struct qt_lexer lexer;
    struct qt_token t;  /* current token */
    int w;              /* enum qt_word of `t`; QT_W_none unless `t` is an unquoted word */
    const char *behind; /* the byte after the previous token */
    struct qt_grammar_lists lists;
    struct qt_limit limit;
    int64_t parameters; /* number of placeholders already read */
    uint64_t impure;    /* number of functions, variables and subqueries already read */
    size_t steps;       /* tokens that may still be read, including tokens read again after backtracking */
    int32_t scope;
    int depth;
    uint8_t filtering; /* comparisons give roles to columns */
    uint8_t bad;       /* enum qt_bad */
    uint8_t seen;      /* at least one statement that can use tables was read */
    /* Function pointers for the recursive rules: operands contain expressions and queries, which contain operands. */
    void (*expression)(struct qt_grammar *, struct qt_side *);
    void (*operands)(struct qt_grammar *, struct qt_side *);
    void (*query)(struct qt_grammar *);
};

/* The kinds of a parsed expression. */
enum qt_side_kind { QT_SIDE_CONST, QT_SIDE_COLUMN, QT_SIDE_ROW, QT_SIDE_MIXED };
struct qt_side {
    int kind;
    size_t from, to; /* range of its columns: from <= index < to */
    const char *value, *value_end;
    int64_t parameter;
};

static inline size_t qt_n_columns(const struct qt_grammar *g)
{
    return g->lists.columns.len / sizeof(struct qt_column_use);
}
static inline size_t qt_n_tables(const struct qt_grammar *g)
{
    return g->lists.tables.len / sizeof(struct qt_table_use);
}
static inline struct qt_column_use *qt_column_at(const struct qt_grammar *g, size_t i)
{
    return (struct qt_column_use *)(void *)g->lists.columns.p + i;
}
static inline struct qt_table_use *qt_table_at(const struct qt_grammar *g, size_t i)
{
    return (struct qt_table_use *)(void *)g->lists.tables.p + i;
}
static inline struct qt_scope *qt_scope_at(const struct qt_grammar *g, int32_t i)
{
    return (struct qt_scope *)(void *)g->lists.scopes.p + i;
}
/* Returns 1 if the current scope has a column at index `from` or later. */
static inline int qt_own_columns(const struct qt_grammar *g, size_t from)
{
    for (size_t i = from; i < qt_n_columns(g); i++)
        if (qt_column_at(g, i)->scope == g->scope)
            return 1;
    return 0;
}
/* Returns 1 if a column of the current scope at index `from` or later already has a role. A comparison inside an
 * operand gave that role. */
static inline int qt_has_role(const struct qt_grammar *g, size_t from)
{
    for (size_t i = from; i < qt_n_columns(g); i++)
        if (qt_column_at(g, i)->scope == g->scope && qt_column_at(g, i)->role != QT_R_NONE)
            return 1;
    return 0;
}
/* Marks columns that are compared inside another comparison or inside arithmetic. A row need not satisfy the inner
 * condition. */
static inline void qt_within(struct qt_grammar *g, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        if (c->scope == g->scope)
            c->plain = c->all = 0;
    }
}
static inline void qt_keep(struct qt_grammar *g, struct qt_bytes *list, const void *one, size_t size)
{
    if (qt_bytes_add(list, one, size) != 0)
        g->bad = QT_BAD_NO_MEMORY;
}

static inline void qt_expected(struct qt_grammar *g)
{
    if (!g->bad)
        g->bad = QT_BAD_NOT;
}

/* Moves to the next token. Skips optimizer hints and reads executable comments as SQL. */
static inline void qt_advance(struct qt_grammar *g)
{
    if (g->steps-- == 0)
        g->bad = QT_BAD_TOO_MUCH;
    g->behind = g->t.p + g->t.len;
    g->parameters += g->t.kind == QT_T_PARAM;
    int dot = g->t.kind == QT_T_DOT || g->t.kind == QT_T_SYSTEM;
    do {
        qt_lex(&g->lexer, &g->t);
        if (g->t.kind == QT_T_HINT)
            while (g->t.kind != QT_T_COMMENT_END && g->t.kind != QT_T_END)
                qt_lex(&g->lexer, &g->t);
    } while (g->t.kind == QT_T_EXECUTABLE || g->t.kind == QT_T_COMMENT_END);
    g->w = g->t.kind == QT_T_WORD && !dot ? qt_word_find(g->words, g->t.p, g->t.len) : QT_W_none;
}

static inline int qt_take(struct qt_grammar *g, int word)
{
    if (g->w != word)
        return 0;
    qt_advance(g);
    return 1;
}
static inline int qt_take_kind(struct qt_grammar *g, int kind)
{
    if (g->t.kind != kind)
        return 0;
    qt_advance(g);
    return 1;
}
static inline void qt_need(struct qt_grammar *g, int word)
{
    if (!qt_take(g, word))
        qt_expected(g);
}
static inline void qt_need_kind(struct qt_grammar *g, int kind)
{
    if (!qt_take_kind(g, kind))
        qt_expected(g);
}
static inline int qt_is_op(const struct qt_grammar *g, const char *op)
{
    return g->t.kind == QT_T_OPERATOR && g->t.len == strlen(op) && memcmp(g->t.p, op, g->t.len) == 0;
}
static inline int qt_is_name(const struct qt_grammar *g)
{
    return g->t.kind == QT_T_QUOTED || (g->t.kind == QT_T_WORD && !(qt_word_flags[g->w] & QT_W_RESERVED));
}
static inline int qt_ends(const struct qt_grammar *g)
{
    return g->bad || g->t.kind == QT_T_END || g->t.kind == QT_T_SEMICOLON;
}

/* Returns 1 if two names are equal. Ignores case and quotes. */
static inline int qt_same_name(const struct qt_token *a, const struct qt_token *b)
{
    const char *p = a->p, *q = b->p;
    size_t n = a->len, m = b->len;
    if (n == 0 || m == 0)
        return 0;
    int quoted_a = n > 1 && strchr("`'\"", *p) != NULL, quoted_b = m > 1 && strchr("`'\"", *q) != NULL;
    p += quoted_a;
    n -= quoted_a ? 2 : 0;
    q += quoted_b;
    m -= quoted_b ? 2 : 0;
    return n == m && strncasecmp(p, q, n) == 0;
}

/* A saved parser position, for backtracking. */
struct qt_place {
    struct qt_lexer lexer;
    struct qt_token t;
    const char *behind;
    int64_t parameters;
    size_t tables, columns, items, scopes, ctes;
    int32_t scope;
    int w, depth;
};
static inline struct qt_place qt_here(const struct qt_grammar *g)
{
    const struct qt_grammar_lists *l = &g->lists;
    return (struct qt_place){g->lexer,     g->t,          g->behind,   g->parameters, l->tables.len, l->columns.len,
                             l->items.len, l->scopes.len, l->ctes.len, g->scope,      g->w,          g->depth};
}
static inline void qt_back(struct qt_grammar *g, const struct qt_place *at)
{
    struct qt_grammar_lists *l = &g->lists;
    g->lexer = at->lexer;
    g->t = at->t;
    g->behind = at->behind;
    g->parameters = at->parameters;
    l->tables.len = at->tables;
    l->columns.len = at->columns;
    l->items.len = at->items;
    l->scopes.len = at->scopes;
    l->ctes.len = at->ctes;
    g->scope = at->scope;
    g->w = at->w;
    g->depth = at->depth;
    g->bad = g->bad == QT_BAD_NOT ? 0 : g->bad;
}

/* Skips to the closing parenthesis or, if `commas` is set, to the next comma. The closing token itself is not
 * consumed. */
static inline void qt_skip_inside(struct qt_grammar *g, int commas)
{
    for (int depth = 0; g->t.kind != QT_T_END; qt_advance(g)) {
        if (depth == 0 && (g->t.kind == QT_T_CLOSE || (commas && g->t.kind == QT_T_COMMA)))
            return;
        depth += (g->t.kind == QT_T_OPEN) - (g->t.kind == QT_T_CLOSE);
    }
    qt_expected(g);
}
static inline void qt_skip_parens(struct qt_grammar *g) /* the current token must be ( */
{
    qt_need_kind(g, QT_T_OPEN);
    qt_skip_inside(g, 0);
    qt_need_kind(g, QT_T_CLOSE);
}

#endif

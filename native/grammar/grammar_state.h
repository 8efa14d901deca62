/* SPDX-License-Identifier: Apache-2.0 */
/* A statement while it is parsed. Types and inline helpers, for the files of this folder.
 *
 * Nothing is looked up before the end: a column keeps the scope in which it stands and its qualifier as written, for
 * a FROM clause comes behind the columns that need it. */
#ifndef QT_GRAMMAR_STATE_H
#define QT_GRAMMAR_STATE_H

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "grammar/words.h"
#include "sql/lexer.h"

enum { QT_DEPTH = 200 }; /* of expressions and queries inside each other */

/* NOT: not understood at the token at hand. TOO_MUCH: what was tried and given up grew with no bound. */
enum qt_bad { QT_BAD_NOT = 1, QT_BAD_NO_MEMORY, QT_BAD_TOO_MUCH };
enum qt_role { QT_R_NONE, QT_R_FILTER, QT_R_RANGE, QT_R_JOIN, QT_R_GROUP, QT_R_ORDER, QT_R_SET, QT_R_DROPPED };
enum qt_access { QT_A_READ, QT_A_LOCK, QT_A_WRITE };

struct qt_table_use {
    struct qt_token schema, name, alias; /* len 0 = none */
    int32_t scope;
    uint8_t derived; /* a subquery, a name of WITH, a function: no table of the server */
    uint8_t access;
};

struct qt_column_use {
    struct qt_token schema, table, name;
    const char *op;                 /* as shown: =, <, in, ... */
    const char *value, *value_end;  /* the literals that it is compared with, as written */
    int64_t parameter;              /* or which placeholder, from 0; -1 = none */
    int32_t scope, other, table_at; /* other: the column it is joined with; table_at: known already; -1 = none */
    uint8_t role;                   /* enum qt_role */
    uint8_t plain;                  /* stands alone on its side: an index on it could be used */
    uint8_t all;                    /* the condition holds for every row: no OR, no NOT around it */
};

struct qt_item { /* of a select list */
    struct qt_token alias;
    int32_t scope, column; /* column: where the item is nothing else, else -1 */
};

struct qt_scope {
    int32_t parent;
    uint8_t lock; /* FOR UPDATE, LOCK IN SHARE MODE */
};

/* Growing arrays of the structs above. */
struct qt_grammar_lists {
    struct qt_bytes tables, columns, items, scopes, ctes; /* ctes: struct qt_token */
};

/* The LIMIT outside of brackets: how many rows it lets through, as written, or which placeholder it is. */
struct qt_limit {
    const char *value, *value_end; /* NULL = none, or no literal */
    int64_t parameter;             /* -1 = none */
    int n;                         /* how many there are in the text */
};

struct qt_side;

struct qt_grammar {
    const struct qt_words *words;
    struct qt_lexer lexer;
    struct qt_token t;  /* at hand */
    int w;              /* enum qt_word of it, QT_W_none for anything but an unquoted word */
    const char *behind; /* the token before */
    struct qt_grammar_lists lists;
    struct qt_limit limit;
    int64_t parameters; /* placeholders passed */
    uint64_t impure;    /* functions, variables and subqueries passed */
    size_t steps;       /* tokens that may still be read, those of what is tried twice included */
    int32_t scope;
    int depth;
    uint8_t filtering; /* comparisons give roles */
    uint8_t bad;       /* enum qt_bad */
    uint8_t seen;      /* a statement with tables or columns to look for was read */
    /* The rings of the grammar: an operand holds expressions and queries, which hold operands. */
    void (*expression)(struct qt_grammar *, struct qt_side *);
    void (*operands)(struct qt_grammar *, struct qt_side *);
    void (*query)(struct qt_grammar *);
};

/* What an expression turned out to be. */
enum qt_side_kind { QT_SIDE_CONST, QT_SIDE_COLUMN, QT_SIDE_ROW, QT_SIDE_MIXED };
struct qt_side {
    int kind;
    size_t from, to; /* its columns */
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
/* Has a column of the scope at hand come since? */
static inline int qt_own_columns(const struct qt_grammar *g, size_t from)
{
    for (size_t i = from; i < qt_n_columns(g); i++)
        if (qt_column_at(g, i)->scope == g->scope)
            return 1;
    return 0;
}
/* Has a column of this scope, from `from` on, a role already? A comparison inside of an operand gave it. */
static inline int qt_has_role(const struct qt_grammar *g, size_t from)
{
    for (size_t i = from; i < qt_n_columns(g); i++)
        if (qt_column_at(g, i)->scope == g->scope && qt_column_at(g, i)->role != QT_R_NONE)
            return 1;
    return 0;
}
/* These columns are compared inside of another comparison or of arithmetic: no row has to meet the condition. */
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

/* Moves to the next token; hints are skipped, executable comments are read as the SQL that they are. */
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

/* Are these names equal, in whatever case and quotes? */
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

/* The place to come back to where what was tried does not fit. */
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

/* Passes over everything up to the parenthesis that closes, or a comma (`commas`); neither is taken. */
static inline void qt_skip_inside(struct qt_grammar *g, int commas)
{
    for (int depth = 0; g->t.kind != QT_T_END; qt_advance(g)) {
        if (depth == 0 && (g->t.kind == QT_T_CLOSE || (commas && g->t.kind == QT_T_COMMA)))
            return;
        depth += (g->t.kind == QT_T_OPEN) - (g->t.kind == QT_T_CLOSE);
    }
    qt_expected(g);
}
static inline void qt_skip_parens(struct qt_grammar *g) /* at ( */
{
    qt_need_kind(g, QT_T_OPEN);
    qt_skip_inside(g, 0);
    qt_need_kind(g, QT_T_CLOSE);
}

#endif

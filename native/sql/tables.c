/* SPDX-License-Identifier: Apache-2.0 */
/* A name is a table after FROM, JOIN, UPDATE, INTO, TABLE and similar words. In a list after such a word, each comma is
 * followed by another table. FROM counts only after a SELECT or DELETE in the same parentheses. So EXTRACT(YEAR FROM d)
 * contains no table.
 *
 * The name of a CTE counts as a table until its definition ends, because WITH t AS (SELECT * FROM t) reads table t. */
#include "sql/tables.h"

#include <string.h>

#include "sql/names.h"

enum { LEVELS = 64, CTES = 16 };

struct level {
    uint8_t query, list; /* query: SELECT or DELETE was read. list: a table follows each comma */
    struct qt_token cte; /* name of the CTE defined in these parentheses; len 0: none */
};

struct reader {
    struct qt_lexer lexer;
    struct qt_token t; /* current token */
    struct qt_names *names;
    struct level levels[LEVELS];
    struct qt_token ctes[CTES];
    size_t depth, n_ctes, words; /* words: number in the current statement */
    int first, previous;         /* keywords of the first and the previous word */
    uint8_t expect;              /* a table name must follow */
    uint8_t on_table;            /* CREATE INDEX, CREATE TRIGGER, GRANT: ON names a table */
    uint8_t shows;               /* SHOW COLUMNS and similar: FROM names a table */
    uint8_t named;               /* the current statement has named a table */
    int bad;
};

/* Returns the level of the current parentheses. */
static struct level *at_hand(struct reader *r) { return &r->levels[r->depth < LEVELS ? r->depth : LEVELS - 1]; }

static void next_token(struct reader *r)
{
    qt_lex(&r->lexer, &r->t);
    while (r->t.kind == QT_T_HINT) {
        while (r->t.kind != QT_T_COMMENT_END && r->t.kind != QT_T_END)
            qt_lex(&r->lexer, &r->t);
        if (r->t.kind == QT_T_COMMENT_END)
            qt_lex(&r->lexer, &r->t);
    }
}

static int is_name(const struct qt_token *t) { return t->kind == QT_T_WORD || t->kind == QT_T_QUOTED; }

static int is_plain(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((qt_char_class[(unsigned char)p[i]] & (QT_C_IDENT | QT_C_DIGIT)) == 0)
            return 0;
    return len > 0;
}

static void add_part(struct reader *r, struct qt_bytes *to, const struct qt_token *t)
{
    const char *p = t->p;
    size_t len = t->len;
    if (t->kind == QT_T_QUOTED && len > 2 && is_plain(p + 1, len - 2)) {
        p++;
        len -= 2;
    }
    for (size_t i = 0; i < len; i++) {
        char c = qt_lower(p[i]);
        r->bad |= c != 0 && qt_bytes_add(to, &c, 1) != 0;
    }
}

/* Keeps the name that begins at `from`, unless the list already contains it. */
static void end_name(struct reader *r, struct qt_bytes *to, size_t from)
{
    r->bad |= qt_bytes_add(to, "", 1) != 0;
    if (r->bad)
        return;
    for (size_t at = 0; at < from; at += strlen(to->p + at) + 1)
        if (strcmp(to->p + at, to->p + from) == 0) {
            to->len = from;
            return;
        }
}

static int same(const struct qt_token *a, const struct qt_token *b)
{
    if (a->len != b->len)
        return 0;
    for (size_t i = 0; i < a->len; i++)
        if (qt_lower(a->p[i]) != qt_lower(b->p[i]))
            return 0;
    return 1;
}

static int is_cte(const struct reader *r, const struct qt_token *t)
{
    for (size_t i = 0; i < r->n_ctes; i++)
        if (same(&r->ctes[i], t))
            return 1;
    return 0;
}

/* Reads a name with its schema. If `as_table` is 0, only the names of called functions and procedures are kept. */
static void read_name(struct reader *r, int as_table)
{
    struct qt_token first = r->t;
    struct qt_bytes *to = as_table ? &r->names->tables : &r->names->calls;
    size_t from = to->len, parts = 1;
    int whole = 1, called;
    r->named |= (uint8_t)as_table;
    add_part(r, to, &r->t);
    for (next_token(r); r->t.kind == QT_T_DOT; parts++) {
        next_token(r);
        whole = is_name(&r->t);
        if (!whole)
            break;
        r->bad |= qt_bytes_add(to, ".", 1) != 0;
        add_part(r, to, &r->t);
        next_token(r);
    }
    called = r->t.kind == QT_T_OPEN;
    if (!whole ||
        (as_table ? (called && at_hand(r)->list) || (parts == 1 && (is_cte(r, &first) || qt_name_is(&first, "dual")))
                  : !called && r->first != QT_K_call))
        to->len = from;
    else
        end_name(r, to, from);
    r->previous = QT_K_NONE;
    r->words++;
}

/* Returns 1 for words that may precede the name after UPDATE, INTO, TABLE, ... */
static int is_modifier(const struct qt_token *t)
{
    static const char *const words[] = {"low_priority", "high_priority", "delayed", "ignore", "into",       "if", "not",
                                        "exists",       "only",          "lateral", "oj",     "concurrent", "to", "as",
                                        "table",        "tables",        NULL};
    for (const char *const *w = words; t->kind == QT_T_WORD && *w != NULL; w++)
        if (qt_name_is(t, *w))
            return 1;
    return 0;
}

/* Returns 1 for keywords that cannot name a table without quotes. */
static int is_reserved(int k)
{
    return k == QT_K_select || k == QT_K_values || k == QT_K_with || k == QT_K_on || k == QT_K_using ||
           k == QT_K_where || k == QT_K_set || k == QT_K_from || k == QT_K_join || k == QT_K_by || k == QT_K_for ||
           k == QT_K_key || k == QT_K_index || k == QT_K_in || k == QT_K_like || k == QT_K_limit || k == QT_K_read ||
           k == QT_K_write || k == QT_K_union || k == QT_K_insert || k == QT_K_update || k == QT_K_delete ||
           k == QT_K_replace || k == QT_K_null || k == QT_K_procedure;
}

/* Reads WITH [RECURSIVE] name [(columns)] AS (. Begins at the word after WITH, or after the comma before another
 * name. */
static void read_cte(struct reader *r)
{
    struct qt_token name;
    int recursive = r->t.kind == QT_T_WORD && qt_name_is(&r->t, "recursive");
    if (recursive)
        next_token(r);
    if (!is_name(&r->t))
        return;
    name = r->t;
    next_token(r);
    if (r->t.kind == QT_T_OPEN) {
        while (r->t.kind != QT_T_CLOSE && r->t.kind != QT_T_END)
            next_token(r);
        if (r->t.kind == QT_T_CLOSE)
            next_token(r);
    }
    if (r->t.kind != QT_T_WORD || r->t.keyword != QT_K_as)
        return;
    next_token(r);
    if (r->t.kind != QT_T_OPEN)
        return;
    next_token(r);
    r->depth++;
    *at_hand(r) = (struct level){.cte = name};
    if (recursive && r->n_ctes < CTES)
        r->ctes[r->n_ctes++] = name;
}

static void close(struct reader *r)
{
    struct qt_token cte = at_hand(r)->cte;
    if (r->depth > 0)
        r->depth--;
    r->expect = 0;
    next_token(r);
    if (cte.len == 0)
        return;
    if (!is_cte(r, &cte) && r->n_ctes < CTES)
        r->ctes[r->n_ctes++] = cte;
    if (r->t.kind == QT_T_COMMA) {
        next_token(r);
        read_cte(r);
    }
}

static void begin_statement(struct reader *r)
{
    r->depth = r->n_ctes = r->words = 0;
    r->levels[0] = (struct level){0};
    r->first = r->previous = QT_K_NONE;
    r->expect = r->on_table = r->shows = r->named = 0;
}

/* Returns 1 for keywords that end a list of tables. */
static int ends_list(int k)
{
    return k == QT_K_where || k == QT_K_having || k == QT_K_limit || k == QT_K_set || k == QT_K_values ||
           k == QT_K_union || k == QT_K_except || k == QT_K_intersect || k == QT_K_by || k == QT_K_procedure ||
           k == QT_K_returning || k == QT_K_into || k == QT_K_share || k == QT_K_select;
}

/* Returns 1 for statements that take several tables: DROP TABLE a, b. ALTER TABLE a ADD b INT, ADD c INT takes only one
 * table. */
static int takes_many(int first)
{
    return first == QT_K_drop || first == QT_K_lock || first == QT_K_rename || first == QT_K_analyze ||
           first == QT_K_optimize || first == QT_K_check || first == QT_K_repair || first == QT_K_checksum ||
           first == QT_K_flush;
}

static void table_word(struct reader *r, int k)
{
    int shown = r->first == QT_K_show && r->previous != QT_K_create;
    int makes = r->first == QT_K_create || r->first == QT_K_alter || r->first == QT_K_drop;
    if (shown || r->first == QT_K_unlock || (k == QT_K_view && !makes && r->first != QT_K_show))
        return;
    if (k != QT_K_table && makes && r->named) /* a column: ALTER TABLE t ADD COLUMN view INT */
        return;
    r->expect = 2;
    at_hand(r)->list = (uint8_t)takes_many(r->first);
}

static void update_word(struct reader *r)
{
    if (r->previous == QT_K_key || r->previous == QT_K_for) {
        at_hand(r)->list = 0;
    } else if (r->previous != QT_K_on && !r->on_table) {
        at_hand(r)->list = 1;
        r->expect = 1;
    }
}

/* Returns 1 if a single table name follows the keyword. */
static int leads_alone(struct reader *r, int k)
{
    switch (k) {
    case QT_K_to:
        return r->first == QT_K_rename;
    case QT_K_rename:
        return r->first == QT_K_alter;
    case QT_K_like:
        return r->first == QT_K_create && !at_hand(r)->query;
    case QT_K_for: /* sequence: NEXT VALUE FOR */
        return r->previous == QT_K_value;
    case QT_K_truncate:
    case QT_K_handler:
        return r->words == 0;
    default:
        return 0;
    }
}

/* Handles keywords that may precede a table name. Each keyword has its own conditions. */
static void leading_word(struct reader *r, int k)
{
    switch (k) {
    case QT_K_from:
    case QT_K_in:
        if (r->shows) {
            r->shows = 0;
            r->expect = 2;
        } else if (k == QT_K_from && at_hand(r)->query && r->previous != QT_K_distinct) {
            at_hand(r)->list = 1;
            r->expect = 1;
        }
        break;
    case QT_K_join: /* except USE INDEX FOR JOIN (i) */
        r->expect = r->previous != QT_K_for;
        break;
    case QT_K_update:
        update_word(r);
        break;
    case QT_K_insert:
    case QT_K_replace:
        r->expect = r->previous != QT_K_or && !r->on_table ? 2 : 0;
        break;
    case QT_K_table:
    case QT_K_tables:
    case QT_K_view:
        table_word(r, k);
        break;
    case QT_K_on:
        r->expect = r->on_table ? 2 : 0;
        r->on_table = 0;
        break;
    case QT_K_index:
        r->shows |= r->first == QT_K_show;
        r->on_table |= (r->first == QT_K_create || r->first == QT_K_drop) && r->depth == 0 && r->words < 4;
        break;
    case QT_K_trigger:
        r->on_table |= r->first == QT_K_create;
        break;
    case QT_K_grant:
    case QT_K_revoke:
        r->on_table |= r->words == 0;
        break;
    default:
        r->expect = leads_alone(r, k) ? 2 : 0;
        break;
    }
}

/* Reads the table of DESC t and EXPLAIN t. Ignores EXPLAIN EXTENDED SELECT, EXPLAIN FORMAT = JSON ... */
static void explained(struct reader *r)
{
    size_t before = r->names->tables.len;
    if (!is_name(&r->t) || is_reserved(r->t.kind == QT_T_WORD ? r->t.keyword : QT_K_NONE))
        return;
    read_name(r, 1);
    if (r->t.kind == QT_T_OPERATOR || (r->t.kind == QT_T_WORD && (qt_keyword_flags[r->t.keyword] & QT_KW_VERB)))
        r->names->tables.len = before;
}

/* Handles words that are not keywords but matter to this parser. */
static void other_word(struct reader *r)
{
    static const char *const shown[] = {"columns", "fields", "indexes", "keys", NULL};
    const struct qt_token *t = &r->t;
    int joins = at_hand(r)->list && qt_name_is(t, "straight_join");
    int refers = (r->first == QT_K_create || r->first == QT_K_alter) && qt_name_is(t, "references");
    if (r->first == QT_K_show)
        for (const char *const *name = shown; *name != NULL; name++)
            r->shows |= (uint8_t)qt_name_is(t, *name);
    if (at_hand(r)->list && qt_name_is(t, "window"))
        at_hand(r)->list = 0;
    read_name(r, 0);
    if (joins || refers)
        r->expect = joins ? 1 : 2;
}

static void word(struct reader *r)
{
    int k = r->t.kind == QT_T_WORD ? r->t.keyword : QT_K_NONE, expected = r->expect;
    if (expected && k != QT_K_table && k != QT_K_tables && is_modifier(&r->t)) {
        next_token(r);
        return;
    }
    r->expect = 0;
    if (expected && k != QT_K_table && k != QT_K_tables && !is_reserved(k) && !qt_name_is(&r->t, "column")) {
        read_name(r, 1);
        return;
    }
    if (k == QT_K_NONE) {
        other_word(r);
        return;
    }
    if (r->words == 0)
        r->first = k;
    if (ends_list(k))
        at_hand(r)->list = 0;
    if (k == QT_K_select || k == QT_K_delete)
        at_hand(r)->query = 1;
    leading_word(r, k);
    next_token(r);
    if (k == QT_K_with && r->t.keyword != QT_K_table)
        read_cte(r);
    else if (k == QT_K_using && at_hand(r)->list && r->first == QT_K_delete && r->t.kind != QT_T_OPEN)
        r->expect = 1;
    else if (r->words == 0 && (k == QT_K_desc || k == QT_K_describe || k == QT_K_explain))
        explained(r);
    else if (r->words == 0 && k == QT_K_call && is_name(&r->t))
        read_name(r, 0);
    r->previous = k;
    r->words++;
}

static void open(struct reader *r)
{
    int joined = r->expect == 1;
    int sequence = r->previous == QT_K_nextval || r->previous == QT_K_setval || r->previous == QT_K_lastval;
    r->depth++;
    *at_hand(r) = (struct level){.list = (uint8_t)joined};
    r->expect = joined ? 1 : sequence ? 2 : 0;
    r->previous = QT_K_NONE;
    next_token(r);
}

static void token(struct reader *r)
{
    switch (r->t.kind) {
    case QT_T_WORD:
    case QT_T_QUOTED:
        word(r);
        return;
    case QT_T_OPEN:
        open(r);
        return;
    case QT_T_CLOSE:
        close(r);
        return;
    case QT_T_SEMICOLON:
        begin_statement(r);
        break;
    case QT_T_COMMA:
        r->expect = at_hand(r)->list;
        break;
    case QT_T_EXECUTABLE:
    case QT_T_COMMENT_END:
        break;
    case QT_T_OPERATOR: /* ODBC join: { OJ a LEFT JOIN b ... } */
        r->expect = *r->t.p == '{' ? r->expect : 0;
        r->previous = QT_K_NONE;
        break;
    default:
        r->expect = 0;
        r->previous = QT_K_NONE;
        break;
    }
    next_token(r);
}

int qt_names_read(struct qt_names *names, const struct qt_lexer *lexer)
{
    struct reader r = {.lexer = *lexer, .names = names};
    names->tables.len = names->calls.len = 0;
    begin_statement(&r);
    for (next_token(&r); r.t.kind != QT_T_END && !r.bad;)
        token(&r);
    return r.bad ? -1 : 0;
}

void qt_names_free(struct qt_names *names)
{
    qt_bytes_free(&names->tables);
    qt_bytes_free(&names->calls);
}

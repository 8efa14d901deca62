/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/statement.h"

#include "grammar/expression.h"
#include "grammar/from.h"
#include "grammar/operand.h"
#include "grammar/query.h"

static void options(struct qt_grammar *g)
{
    while (qt_word_flags[g->w] & QT_W_OPTION)
        qt_advance(g);
}

/* Parses the assignments of SET and ON DUPLICATE KEY UPDATE: a = 1, t.b = c + 1 */
static void assignments(struct qt_grammar *g)
{
    struct qt_side s;
    do {
        if (!qt_is_name(g)) {
            qt_expected(g);
            return;
        }
        int32_t column = qt_column_name(g);
        if (column >= 0) {
            qt_column_at(g, (size_t)column)->role = QT_R_SET;
            qt_column_at(g, (size_t)column)->plain = 1;
        }
        if (!qt_is_op(g, "=") && !qt_is_op(g, ":="))
            qt_expected(g);
        qt_advance(g);
        qt_expression(g, &s);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
}

static void where_order_limit(struct qt_grammar *g)
{
    if (qt_take(g, QT_W_where))
        qt_condition(g);
    qt_order_and_limit(g, 1);
    if (qt_take(g, QT_W_returning))
        qt_role_list(g, QT_R_NONE);
}

static void update(struct qt_grammar *g)
{
    qt_open_scope(g, g->scope);
    qt_advance(g);
    options(g);
    qt_table_references(g);
    qt_need(g, QT_W_set);
    assignments(g);
    where_order_limit(g);
}

/* Handles the multi-table form DELETE a, b.* FROM ... The entries from `targets` to `first` name the tables to delete
 * from. The tables themselves are listed from `first` on. They are marked as tables that the statement changes. */
static void delete_targets(struct qt_grammar *g, size_t targets, size_t first)
{
    for (size_t i = targets; i < first; i++) {
        struct qt_table_use *named = qt_table_at(g, i);
        named->derived = 1;
        for (size_t k = first; k < qt_n_tables(g); k++) {
            struct qt_table_use *t = qt_table_at(g, k);
            if (t->scope == g->scope && qt_same_name(t->alias.len > 0 ? &t->alias : &t->name, &named->name))
                t->access = QT_A_WRITE;
        }
        named->scope = -2; /* matches no scope */
    }
}

static void delete(struct qt_grammar *g)
{
    size_t targets;
    qt_open_scope(g, g->scope);
    qt_advance(g);
    options(g);
    targets = qt_n_tables(g);
    int from = qt_take(g, QT_W_from);
    do {
        int32_t table = qt_table_name(g);
        if (from && qt_take(g, QT_W_partition))
            qt_skip_parens(g);
        if (from && g->w != QT_W_using && g->t.kind != QT_T_COMMA)
            qt_table_alias(g, table);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
    if (from && g->w == QT_W_for) /* FOR PORTION OF p FROM a TO b */
        while (!qt_ends(g) && g->w != QT_W_where)
            qt_advance(g);
    size_t first = qt_n_tables(g);
    if (from ? qt_take(g, QT_W_using) : 1) {
        if (!from)
            qt_need(g, QT_W_from);
        qt_table_references(g);
        if (!g->bad)
            delete_targets(g, targets, first);
    } else if (!g->bad) {
        qt_table_at(g, targets)->access = QT_A_WRITE;
    }
    where_order_limit(g);
}

static void inserted_columns(struct qt_grammar *g)
{
    qt_need_kind(g, QT_T_OPEN);
    while (!g->bad && g->t.kind != QT_T_CLOSE) {
        if (!qt_is_name(g))
            qt_expected(g);
        int32_t column = g->bad ? -1 : qt_column_name(g);
        if (column >= 0) {
            qt_column_at(g, (size_t)column)->role = QT_R_SET;
            qt_column_at(g, (size_t)column)->plain = 1;
        }
        if (!qt_take_kind(g, QT_T_COMMA) && g->t.kind != QT_T_CLOSE)
            qt_expected(g);
    }
    qt_need_kind(g, QT_T_CLOSE);
}

/* Stores the value of `s` in the columns from `first` to before `end`. Clears their value if `s` is not a constant. */
static void set_values(struct qt_grammar *g, size_t first, size_t end, const struct qt_side *s)
{
    for (size_t i = first; i < end && i < qt_n_columns(g); i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        c->value = s != NULL && s->kind == QT_SIDE_CONST ? s->value : NULL;
        c->value_end = c->value != NULL ? s->value_end : NULL;
        c->parameter = s != NULL && s->kind == QT_SIDE_CONST ? s->parameter : -1;
    }
}

/* Parses the rows of VALUES for the columns from `first` to before `end`. A column keeps its value only if there is a
 * single row. */
static void rows(struct qt_grammar *g, size_t first, size_t end)
{
    struct qt_side s;
    size_t n = 0;
    qt_advance(g);
    do {
        size_t at = first;
        if (n++ == 1)
            set_values(g, first, end, NULL);
        qt_take(g, QT_W_row);
        qt_need_kind(g, QT_T_OPEN);
        while (!g->bad && g->t.kind != QT_T_CLOSE) {
            qt_expression(g, &s);
            if (n == 1 && at < end) {
                set_values(g, at, at + 1, &s);
                at++;
            }
            if (!qt_take_kind(g, QT_T_COMMA) && g->t.kind != QT_T_CLOSE)
                qt_expected(g);
        }
        qt_need_kind(g, QT_T_CLOSE);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
    if (qt_take(g, QT_W_as)) { /* alias of the new row, with optional column aliases */
        qt_advance(g);
        if (g->t.kind == QT_T_OPEN)
            qt_skip_parens(g);
    }
}

static void insert(struct qt_grammar *g)
{
    struct qt_place at;
    int32_t scope = qt_open_scope(g, g->scope);
    int replaces = g->w == QT_W_replace;
    qt_advance(g);
    options(g);
    qt_take(g, QT_W_into);
    int32_t table = qt_table_name(g);
    if (table >= 0 && !g->bad)
        qt_table_at(g, (size_t)table)->access = QT_A_WRITE;
    if (qt_take(g, QT_W_partition))
        qt_skip_parens(g);
    at = qt_here(g);
    size_t first = qt_n_columns(g);
    if (g->t.kind == QT_T_OPEN && !qt_query_ahead(g))
        inserted_columns(g);
    if (g->bad == QT_BAD_NOT)
        qt_back(g, &at);
    size_t end = qt_n_columns(g);
    if (g->w == QT_W_values || g->w == QT_W_value) {
        rows(g, first, end);
    } else if (qt_take(g, QT_W_set)) {
        assignments(g);
    } else {
        g->scope = -1;
        qt_query(g);
        g->scope = scope;
    }
    if (qt_take(g, QT_W_on)) {
        qt_need(g, QT_W_duplicate);
        qt_need(g, QT_W_key);
        qt_need(g, QT_W_update);
        assignments(g);
        replaces = 1;
    }
    if (replaces) /* a match on another unique key may change or delete another row */
        set_values(g, first, end, NULL);
    if (qt_take(g, QT_W_returning))
        qt_role_list(g, QT_R_NONE);
}

/* Skips EXPLAIN FORMAT = JSON or SET STATEMENT a = 1 FOR. Returns 1 if the statement inside can be parsed. */
static int leads_on(struct qt_grammar *g)
{
    if (g->w == QT_W_explain || g->w == QT_W_describe || g->w == QT_W_desc || g->w == QT_W_analyze) {
        qt_advance(g);
        while (g->w == QT_W_extended || g->w == QT_W_partitions || g->w == QT_W_format || g->w == QT_W_analyze) {
            int format = g->w == QT_W_format;
            qt_advance(g);
            if (format && qt_is_op(g, "=")) {
                qt_advance(g);
                qt_advance(g);
            }
        }
        return g->w == QT_W_select || g->w == QT_W_with || g->w == QT_W_insert || g->w == QT_W_replace ||
               g->w == QT_W_update || g->w == QT_W_delete || g->t.kind == QT_T_OPEN;
    }
    if (g->w == QT_W_set) {
        qt_advance(g);
        if (!qt_take(g, QT_W_statement))
            return 0;
        while (!qt_ends(g) && g->w != QT_W_for)
            qt_advance(g);
        return qt_take(g, QT_W_for);
    }
    return 1;
}

static void other(struct qt_grammar *g)
{
    while (!qt_ends(g))
        qt_advance(g);
}

static void statement(struct qt_grammar *g)
{
    g->scope = -1;
    g->lists.ctes.len = 0;
    if (!leads_on(g)) {
        other(g);
        return;
    }
    if (g->w == QT_W_with) {
        struct qt_place at = qt_here(g);
        qt_with(g);
        if (g->w != QT_W_update && g->w != QT_W_delete && !g->bad)
            qt_back(g, &at);
    }
    uint8_t seen = g->seen;
    g->seen = 1;
    if (g->w == QT_W_update)
        update(g);
    else if (g->w == QT_W_delete)
        delete(g);
    else if (g->w == QT_W_insert || g->w == QT_W_replace)
        insert(g);
    else if (qt_query_ahead(g))
        qt_query(g);
    else if (g->w == QT_W_do && (qt_advance(g), 1))
        qt_role_list(g, QT_R_NONE);
    else {
        g->seen = seen;
        other(g);
    }
}

void qt_grammar_init(struct qt_grammar *g, const struct qt_words *words)
{
    memset(g, 0, sizeof *g);
    g->words = words;
    g->expression = qt_expression;
    g->operands = qt_operands;
    g->query = qt_query;
}

void qt_grammar_free(struct qt_grammar *g)
{
    struct qt_grammar_lists *l = &g->lists;
    struct qt_bytes *all[] = {&l->tables, &l->columns, &l->items, &l->scopes, &l->ctes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        qt_bytes_free(all[i]);
}

enum qt_parsed qt_parse(struct qt_grammar *g, const struct qt_keywords *keywords, struct qt_session_mode mode,
                        const char *sql, size_t len)
{
    struct qt_grammar_lists *l = &g->lists;
    l->tables.len = l->columns.len = l->items.len = l->scopes.len = l->ctes.len = 0;
    g->limit = (struct qt_limit){.parameter = -1};
    g->parameters = 0;
    g->depth = g->bad = g->seen = g->filtering = 0;
    g->scope = -1;
    g->steps = len * 8 + 1000;
    g->t = (struct qt_token){.p = sql};
    qt_lexer_init(&g->lexer, keywords, sql, len);
    g->lexer.reading = mode.reading;
    g->lexer.charset = mode.charset;
    qt_advance(g);
    while (!g->bad && g->t.kind != QT_T_END) {
        if (qt_take_kind(g, QT_T_SEMICOLON))
            continue;
        statement(g);
        if (!qt_ends(g))
            qt_expected(g);
    }
    if (g->bad == QT_BAD_NO_MEMORY)
        return QT_PARSED_NO_MEMORY;
    if (g->bad || g->lexer.open_quote)
        return QT_PARSED_NOT;
    return g->seen ? QT_PARSED : QT_PARSED_OTHER;
}

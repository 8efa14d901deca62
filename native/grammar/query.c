/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/query.h"

#include "grammar/expression.h"
#include "grammar/from.h"
#include "grammar/operand.h"

static void select_list(struct qt_grammar *g)
{
    struct qt_side s;
    do {
        struct qt_item item = {.scope = g->scope, .column = -1};
        if (qt_is_op(g, "*")) {
            qt_advance(g);
        } else {
            qt_expression(g, &s);
            item.column = s.kind == QT_SIDE_COLUMN ? (int32_t)s.from : -1;
            int as = qt_take(g, QT_W_as);
            if (g->t.kind == QT_T_STRING || qt_is_name(g) || (as && g->t.kind == QT_T_WORD)) {
                item.alias = g->t;
                qt_advance(g);
            } else if (as) {
                qt_expected(g);
            }
        }
        qt_keep(g, &g->lists.items, &item, sizeof item);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
}

/* Finds the select item that an expression of GROUP BY or ORDER BY names by alias or position. Returns NULL if there is
 * none. */
static const struct qt_item *item_meant(const struct qt_grammar *g, const struct qt_side *s)
{
    const struct qt_item *items = (const struct qt_item *)(const void *)g->lists.items.p;
    size_t n = g->lists.items.len / sizeof *items;
    int64_t place = 0, number = 0;
    for (const char *p = s->value; p != NULL && p < s->value_end && s->kind == QT_SIDE_CONST; p++)
        number = *p >= '0' && *p <= '9' && number < 100000 ? number * 10 + (*p - '0') : 1000000;
    for (size_t i = 0; i < n; i++) {
        if (items[i].scope != g->scope)
            continue;
        place++;
        if (s->kind == QT_SIDE_CONST
                ? place == number
                : s->kind == QT_SIDE_COLUMN && qt_column_at(g, s->from)->table.len == 0 && items[i].alias.len > 0 &&
                      qt_same_name(&items[i].alias, &qt_column_at(g, s->from)->name))
            return &items[i];
    }
    return NULL;
}

static void with_role(struct qt_grammar *g, const struct qt_side *s, int role, const char *op)
{
    for (size_t i = s->from; i < s->to; i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        if (c->scope != g->scope || c->role != QT_R_NONE)
            continue;
        c->role = (uint8_t)role;
        c->op = op;
        c->plain = s->kind == QT_SIDE_COLUMN;
    }
}

void qt_role_list(struct qt_grammar *g, int role)
{
    uint8_t filtering = g->filtering;
    g->filtering = 0;
    do {
        struct qt_side s;
        const char *begin = g->t.p;
        qt_expression(g, &s);
        s.value = s.kind == QT_SIDE_CONST ? begin : NULL;
        s.value_end = g->behind;
        const struct qt_item *item = g->bad ? NULL : item_meant(g, &s);
        if (item != NULL) {
            g->lists.columns.len = s.from * sizeof(struct qt_column_use);
            s.to = s.from;
            if (item->column >= 0) {
                struct qt_column_use c = *qt_column_at(g, (size_t)item->column);
                qt_keep(g, &g->lists.columns, &c, sizeof c);
                s.kind = QT_SIDE_COLUMN;
                s.to += !g->bad;
            }
        }
        const char *op = g->w == QT_W_desc ? "desc" : role == QT_R_ORDER ? "asc" : NULL;
        if (g->w == QT_W_asc || g->w == QT_W_desc)
            qt_advance(g);
        if (!g->bad && role != QT_R_NONE)
            with_role(g, &s, role, op);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
    g->filtering = filtering;
}

/* Parses a number or a placeholder and stores it in `limit`. */
static void limited(struct qt_grammar *g, struct qt_limit *limit)
{
    struct qt_side s;
    *limit = (struct qt_limit){g->t.p, g->t.p + g->t.len, g->t.kind == QT_T_PARAM ? g->parameters : -1, 0};
    if (g->t.kind != QT_T_NUMBER)
        limit->value = limit->value_end = NULL;
    qt_operand(g, &s);
}

static void limit(struct qt_grammar *g)
{
    struct qt_limit found, skipped;
    if (qt_take(g, QT_W_rows)) { /* LIMIT ROWS EXAMINED 5 */
        qt_advance(g);
        limited(g, &skipped);
        return;
    }
    limited(g, &found);
    if (qt_take_kind(g, QT_T_COMMA))
        limited(g, &found);
    else if (qt_take(g, QT_W_offset))
        limited(g, &skipped);
    if (qt_take(g, QT_W_rows)) {
        qt_advance(g);
        limited(g, &skipped);
    }
    if (g->depth <= 1) {
        found.n = g->limit.n + 1;
        g->limit = found;
    }
}

/* FETCH FIRST 3 ROWS ONLY. FETCH without a number returns one row. */
static void fetch(struct qt_grammar *g)
{
    struct qt_limit found = {.parameter = -1};
    while (!qt_ends(g) && (g->t.kind == QT_T_WORD || g->t.kind == QT_T_NUMBER || g->t.kind == QT_T_PARAM) &&
           g->w != QT_W_for && g->w != QT_W_union) {
        if (g->t.kind == QT_T_WORD)
            qt_advance(g);
        else
            limited(g, &found);
    }
    if (g->depth <= 1) {
        found.n = g->limit.n + 1;
        g->limit = found;
    }
}

void qt_order_and_limit(struct qt_grammar *g, int columns)
{
    struct qt_side s;
    if (qt_take(g, QT_W_order)) {
        qt_need(g, QT_W_by);
        qt_role_list(g, columns ? QT_R_ORDER : QT_R_NONE);
        if (qt_take(g, QT_W_with))
            qt_need(g, QT_W_rollup);
    }
    if (qt_take(g, QT_W_limit))
        limit(g);
    if (qt_take(g, QT_W_offset)) { /* as in OFFSET 5 ROWS FETCH FIRST 3 ROWS ONLY */
        qt_operand(g, &s);
        qt_advance(g);
    }
    if (qt_take(g, QT_W_fetch))
        fetch(g);
}

/* INTO @a, OUTFILE '...': skips to the next clause. */
static void into(struct qt_grammar *g)
{
    while (!qt_ends(g) && g->t.kind != QT_T_CLOSE && g->w != QT_W_from && g->w != QT_W_for && g->w != QT_W_lock &&
           g->w != QT_W_union)
        qt_advance(g);
}

/* Parses the clauses at the end of a query: FOR UPDATE OF t SKIP LOCKED, LOCK IN SHARE MODE, PROCEDURE ..., INTO ... */
static void ending(struct qt_grammar *g)
{
    while (!g->bad) {
        if (g->w == QT_W_for || g->w == QT_W_lock) {
            if (g->lists.scopes.len > 0)
                qt_scope_at(g, g->scope)->lock = 1;
            qt_advance(g);
            while (!qt_ends(g) && g->t.kind != QT_T_CLOSE && g->w != QT_W_into && g->w != QT_W_for &&
                   g->w != QT_W_union)
                qt_advance(g);
        } else if (qt_take(g, QT_W_into)) {
            into(g);
        } else if (qt_take(g, QT_W_procedure)) {
            qt_advance(g);
            qt_skip_parens(g);
        } else {
            return;
        }
    }
}

static void windows(struct qt_grammar *g)
{
    do {
        qt_advance(g);
        qt_need(g, QT_W_as);
        qt_skip_parens(g);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
}

static void select_query(struct qt_grammar *g, int first)
{
    struct qt_side s;
    qt_advance(g);
    while (qt_word_flags[g->w] & QT_W_OPTION && !(g->w == QT_W_ignore || g->w == QT_W_quick))
        qt_advance(g);
    select_list(g);
    if (qt_take(g, QT_W_into))
        into(g);
    if (qt_take(g, QT_W_from))
        qt_table_references(g);
    if (qt_take(g, QT_W_where))
        qt_condition(g);
    if (qt_take(g, QT_W_group)) {
        qt_need(g, QT_W_by);
        qt_role_list(g, QT_R_GROUP);
        if (qt_take(g, QT_W_with))
            qt_need(g, QT_W_rollup);
    }
    if (qt_take(g, QT_W_having))
        qt_expression(g, &s);
    if (qt_take(g, QT_W_window))
        windows(g);
    qt_order_and_limit(g, first);
    ending(g);
}

static void values(struct qt_grammar *g)
{
    qt_advance(g);
    do {
        qt_take(g, QT_W_row);
        qt_skip_parens(g);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
}

/* Parses one query of a UNION. */
static void primary(struct qt_grammar *g, int32_t parent, int first)
{
    qt_open_scope(g, parent);
    if (g->t.kind == QT_T_OPEN) {
        qt_advance(g);
        qt_query(g);
        qt_need_kind(g, QT_T_CLOSE);
    } else if (g->w == QT_W_select) {
        select_query(g, first);
    } else if (g->w == QT_W_values) {
        values(g);
    } else if (qt_take(g, QT_W_table)) {
        qt_table_name(g);
    } else {
        qt_expected(g);
    }
}

void qt_with(struct qt_grammar *g)
{
    qt_advance(g);
    int recursive = qt_take(g, QT_W_recursive);
    do {
        struct qt_token name = g->t;
        if (!qt_is_name(g))
            qt_expected(g);
        if (recursive)
            qt_keep(g, &g->lists.ctes, &name, sizeof name);
        qt_advance(g);
        if (g->t.kind == QT_T_OPEN)
            qt_skip_parens(g);
        qt_need(g, QT_W_as);
        qt_need_kind(g, QT_T_OPEN);
        qt_query(g);
        qt_need_kind(g, QT_T_CLOSE);
        if (!recursive)
            qt_keep(g, &g->lists.ctes, &name, sizeof name);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
}

void qt_query(struct qt_grammar *g)
{
    int32_t outer = g->scope;
    uint8_t filtering = g->filtering;
    if (g->bad || ++g->depth > QT_DEPTH) {
        qt_expected(g);
        return;
    }
    g->filtering = 0;
    if (g->w == QT_W_with)
        qt_with(g);
    primary(g, outer, 1);
    while (!g->bad && (g->w == QT_W_union || g->w == QT_W_except || g->w == QT_W_intersect || g->w == QT_W_minus)) {
        qt_advance(g);
        if (g->w == QT_W_all || g->w == QT_W_distinct)
            qt_advance(g);
        primary(g, outer, 0);
    }
    qt_order_and_limit(g, 0);
    ending(g);
    g->scope = outer;
    g->filtering = filtering;
    g->depth--;
}

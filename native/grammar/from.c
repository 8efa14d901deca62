/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/from.h"

#include "grammar/expression.h"
#include "grammar/operand.h"
#include "sql/names.h"

int32_t qt_open_scope(struct qt_grammar *g, int32_t parent)
{
    struct qt_scope s = {.parent = parent};
    qt_keep(g, &g->lists.scopes, &s, sizeof s);
    if (!g->bad)
        g->scope = (int32_t)(g->lists.scopes.len / sizeof s) - 1;
    return g->scope;
}

static int32_t add_table(struct qt_grammar *g, const struct qt_table_use *t)
{
    qt_keep(g, &g->lists.tables, t, sizeof *t);
    return g->bad ? -1 : (int32_t)qt_n_tables(g) - 1;
}

static int is_cte(const struct qt_grammar *g, const struct qt_token *name)
{
    const struct qt_token *cte = (const struct qt_token *)(const void *)g->lists.ctes.p;
    for (size_t i = 0; i < g->lists.ctes.len / sizeof *cte; i++)
        if (qt_same_name(&cte[i], name))
            return 1;
    return 0;
}

int32_t qt_table_name(struct qt_grammar *g)
{
    struct qt_table_use t = {.scope = g->scope, .name = g->t};
    if (!qt_is_name(g)) {
        qt_expected(g);
        return -1;
    }
    qt_advance(g);
    while (g->t.kind == QT_T_DOT) {
        qt_advance(g);
        if (qt_is_op(g, "*")) { /* multi-table delete: DELETE t.* FROM ... */
            qt_advance(g);
            break;
        }
        if (g->t.kind != QT_T_WORD && g->t.kind != QT_T_QUOTED)
            qt_expected(g);
        t.schema = t.name;
        t.name = g->t;
        qt_advance(g);
    }
    t.derived = t.schema.len == 0 && is_cte(g, &t.name);
    return add_table(g, &t);
}

static int is_alias(const struct qt_grammar *g)
{
    return qt_is_name(g) && g->w != QT_W_full && g->w != QT_W_offset && g->w != QT_W_minus && g->w != QT_W_system_time;
}

void qt_table_alias(struct qt_grammar *g, int32_t table)
{
    int as = qt_take(g, QT_W_as);
    if (as ? g->t.kind == QT_T_STRING || g->t.kind == QT_T_WORD || g->t.kind == QT_T_QUOTED : is_alias(g)) {
        if (table >= 0 && !g->bad)
            qt_table_at(g, (size_t)table)->alias = g->t;
        qt_advance(g);
    } else if (as) {
        qt_expected(g);
    }
}

/* Skips the clauses between a table's name and the next join. */
static void decorations(struct qt_grammar *g, int32_t table)
{
    if (qt_take(g, QT_W_partition))
        qt_skip_parens(g);
    if (g->w == QT_W_for) { /* FOR SYSTEM_TIME AS OF '...' or FOR SYSTEM_TIME FROM a TO b */
        struct qt_place at = qt_here(g);
        qt_advance(g);
        if (qt_take(g, QT_W_system_time)) {
            struct qt_side s;
            while (g->w == QT_W_as || g->w == QT_W_of || g->w == QT_W_between || g->w == QT_W_from || g->w == QT_W_all)
                qt_advance(g);
            if (g->t.kind != QT_T_WORD || g->w == QT_W_timestamp)
                qt_operands(g, &s);
            if (qt_take(g, QT_W_and) || qt_take(g, QT_W_to))
                qt_operands(g, &s);
        } else {
            qt_back(g, &at);
        }
    }
    qt_table_alias(g, table);
    while (g->w == QT_W_use || g->w == QT_W_force || g->w == QT_W_ignore) { /* index hint: USE INDEX FOR JOIN (i) */
        qt_advance(g);
        while (!qt_ends(g) && g->t.kind == QT_T_WORD)
            qt_advance(g);
        qt_skip_parens(g);
    }
}

static void derived(struct qt_grammar *g, int is_query)
{
    struct qt_table_use t = {.scope = g->scope, .derived = 1};
    int32_t at;
    qt_advance(g);
    if (is_query)
        g->query(g);
    else
        qt_skip_inside(g, 0);
    qt_need_kind(g, QT_T_CLOSE);
    at = add_table(g, &t);
    qt_table_alias(g, at);
    if (g->t.kind == QT_T_OPEN) /* column aliases: d (a, b) */
        qt_skip_parens(g);
}

static void factor(struct qt_grammar *g)
{
    if (g->bad || ++g->depth > QT_DEPTH) {
        qt_expected(g);
        return;
    }
    if (qt_take(g, QT_W_lateral) || (g->t.kind == QT_T_OPEN && qt_query_ahead(g))) {
        struct qt_place at = qt_here(g);
        derived(g, 1);
        if (g->bad == QT_BAD_NOT) { /* a join in parentheses: ((SELECT ...) AS d JOIN t) */
            qt_back(g, &at);
            qt_need_kind(g, QT_T_OPEN);
            qt_table_references(g);
            qt_need_kind(g, QT_T_CLOSE);
        }
    } else if (qt_take_kind(g, QT_T_OPEN)) {
        qt_table_references(g);
        qt_need_kind(g, QT_T_CLOSE);
    } else if (qt_is_op(g, "{")) { /* ODBC outer join: {OJ a LEFT JOIN b ON ...} */
        qt_advance(g);
        qt_need(g, QT_W_oj);
        qt_table_references(g);
        if (!qt_is_op(g, "}"))
            qt_expected(g);
        qt_advance(g);
    } else if (g->w == QT_W_dual) {
        qt_advance(g);
    } else {
        int32_t table = qt_table_name(g);
        if (g->t.kind == QT_T_OPEN && !g->bad) { /* table function: JSON_TABLE(...), SEQUENCE(...) */
            g->lists.tables.len -= sizeof(struct qt_table_use);
            derived(g, 0);
        } else {
            decorations(g, table);
        }
    }
    g->depth--;
}

/* USING (a, b): adds each column for the two preceding tables. */
static void using_columns(struct qt_grammar *g)
{
    qt_need_kind(g, QT_T_OPEN);
    do {
        int32_t n = (int32_t)qt_n_columns(g), last = (int32_t)qt_n_tables(g) - 1;
        struct qt_column_use c = {
            .scope = g->scope, .parameter = -1, .role = QT_R_JOIN, .op = "=", .plain = 1, .all = 1, .name = g->t};
        if (!qt_is_name(g) || last < 1) {
            qt_expected(g);
            return;
        }
        c.other = n + 1;
        c.table_at = last - 1;
        qt_keep(g, &g->lists.columns, &c, sizeof c);
        c.other = n;
        c.table_at = last;
        qt_keep(g, &g->lists.columns, &c, sizeof c);
        qt_advance(g);
    } while (!g->bad && qt_take_kind(g, QT_T_COMMA));
    qt_need_kind(g, QT_T_CLOSE);
}

/* Takes a JOIN with the words before it, such as LEFT OUTER. */
static int take_join(struct qt_grammar *g)
{
    int joined = 0;
    while (g->w == QT_W_natural || g->w == QT_W_inner || g->w == QT_W_cross || g->w == QT_W_left ||
           g->w == QT_W_right || g->w == QT_W_outer || g->w == QT_W_full)
        qt_advance(g);
    joined = g->w == QT_W_join || g->w == QT_W_straight_join;
    if (joined)
        qt_advance(g);
    return joined;
}

/* Takes ON, but not the ON of ON DUPLICATE KEY UPDATE. */
static int take_on(struct qt_grammar *g)
{
    struct qt_place at = qt_here(g);
    if (!qt_take(g, QT_W_on))
        return 0;
    if (g->w != QT_W_duplicate)
        return 1;
    qt_back(g, &at);
    return 0;
}

void qt_table_references(struct qt_grammar *g)
{
    factor(g);
    while (!g->bad) {
        if (qt_take_kind(g, QT_T_COMMA) || take_join(g))
            factor(g);
        else if (take_on(g))
            qt_condition(g);
        else if (qt_take(g, QT_W_using))
            using_columns(g);
        else
            return;
    }
}

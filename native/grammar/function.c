/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/function.h"

/* Words between arguments: CAST(a AS ...), TRIM(BOTH a FROM b), GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR c). */
static int link_word(struct qt_grammar *g)
{
    int w = g->w;
    if (!(qt_word_flags[w] & QT_W_LINK))
        return 0;
    qt_advance(g);
    if (w == QT_W_as || w == QT_W_using || w == QT_W_returning)
        qt_skip_inside(g, w != QT_W_as);
    else if (w == QT_W_on) /* NULL ON EMPTY */
        qt_advance(g);
    return 1;
}

static void arguments(struct qt_grammar *g, int word)
{
    struct qt_side s;
    int free = 1; /* an argument may begin */
    while (!g->bad && g->t.kind != QT_T_CLOSE) {
        if (g->t.kind == QT_T_COMMA) {
            qt_advance(g);
            if (word == QT_W_convert) /* CONVERT(a, DECIMAL(10, 2)) */
                qt_skip_inside(g, 0);
            free = 1;
        } else if (link_word(g)) {
            free = 1;
        } else if (qt_is_op(g, "*") && free) {
            qt_advance(g);
        } else if (free) {
            (word == QT_W_position ? g->operands : g->expression)(g, &s); /* POSITION(a IN b) */
            free = 0;
        } else {
            qt_expected(g);
        }
    }
}

/* MATCH (a, b) AGAINST (c IN BOOLEAN MODE): a condition of its own. */
static void against(struct qt_grammar *g, size_t from, int filtering)
{
    struct qt_side s;
    for (size_t i = from; filtering && i < qt_n_columns(g); i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        c->role = QT_R_FILTER;
        c->op = "match";
        c->plain = 1;
    }
    qt_need(g, QT_W_against);
    qt_need_kind(g, QT_T_OPEN);
    g->operands(g, &s);
    qt_skip_inside(g, 0);
    qt_need_kind(g, QT_T_CLOSE);
}

void qt_function(struct qt_grammar *g, int word)
{
    uint8_t filtering = g->filtering;
    size_t from = qt_n_columns(g);
    g->impure++;
    g->filtering = 0;
    qt_need_kind(g, QT_T_OPEN);
    if (word == QT_W_extract || word == QT_W_timestampdiff || word == QT_W_timestampadd || word == QT_W_get_format)
        qt_advance(g); /* a unit, or a kind */
    arguments(g, word);
    qt_need_kind(g, QT_T_CLOSE);
    if (word == QT_W_match && !g->bad)
        against(g, from, filtering);
    if (qt_take(g, QT_W_within)) { /* WITHIN GROUP (ORDER BY a) */
        qt_need(g, QT_W_group);
        qt_skip_parens(g);
    }
    if (g->w == QT_W_respect || (g->w == QT_W_ignore && word != QT_W_match)) {
        struct qt_place at = qt_here(g);
        qt_advance(g);
        if (!qt_take(g, QT_W_nulls))
            qt_back(g, &at);
    }
    if (qt_take(g, QT_W_over)) {
        if (g->t.kind == QT_T_OPEN)
            qt_skip_parens(g);
        else
            qt_advance(g);
    }
    g->filtering = filtering;
}

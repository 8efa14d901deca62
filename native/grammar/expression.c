/* SPDX-License-Identifier: Apache-2.0 */
/* Precedence as in sql_yacc.yy as far as it decides what is compared with what: OR, AND, NOT, predicates. */
#include "grammar/expression.h"

#include "grammar/predicate.h"

static void any_of(struct qt_grammar *g, size_t from)
{
    for (size_t i = from; i < qt_n_columns(g); i++)
        qt_column_at(g, i)->all = 0;
}

static void negated(struct qt_grammar *g, struct qt_side *s)
{
    size_t from = qt_n_columns(g);
    int nots = 0;
    while (qt_take(g, QT_W_not))
        nots++;
    qt_predicate(g, s);
    if (nots > 0)
        any_of(g, from);
    else if (s->kind == QT_SIDE_COLUMN && g->filtering) /* WHERE active AND ... */
        qt_column_at(g, from)->plain = 1;
}

static void conjunction(struct qt_grammar *g, struct qt_side *s)
{
    struct qt_side next;
    negated(g, s);
    while (!g->bad && (g->w == QT_W_and || qt_is_op(g, "&&"))) {
        qt_advance(g);
        negated(g, &next);
        s->kind = QT_SIDE_MIXED;
    }
}

void qt_expression(struct qt_grammar *g, struct qt_side *s)
{
    size_t from = qt_n_columns(g);
    struct qt_side next;
    int either = 0;
    *s = (struct qt_side){.from = from, .parameter = -1};
    if (g->bad || ++g->depth > QT_DEPTH) {
        qt_expected(g);
        return;
    }
    conjunction(g, s);
    while (!g->bad && (g->w == QT_W_or || g->w == QT_W_xor || qt_is_op(g, "||"))) {
        qt_advance(g);
        conjunction(g, &next);
        either = 1;
    }
    if (either) {
        any_of(g, from);
        s->kind = QT_SIDE_MIXED;
    }
    if (s->kind == QT_SIDE_MIXED && !qt_own_columns(g, from))
        s->kind = QT_SIDE_CONST;
    s->from = from;
    s->to = qt_n_columns(g);
    g->depth--;
}

void qt_condition(struct qt_grammar *g)
{
    struct qt_side s;
    uint8_t filtering = g->filtering;
    size_t from = qt_n_columns(g);
    g->filtering = 1;
    qt_expression(g, &s);
    g->filtering = filtering;
    for (size_t i = from; i < qt_n_columns(g); i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        if (c->role == QT_R_NONE && c->scope == g->scope) {
            c->role = QT_R_FILTER;
            c->op = "expression";
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the precedence of sql_yacc.yy for OR, AND, NOT and predicates. Other operators need no precedence, because
 * they do not change which columns are compared. */
#include "grammar/expression.h"

#include "grammar/operand.h"

struct comparison {
    const char *written, *op, *flipped; /* flipped: the operator with its sides swapped */
    int role;
};

static const struct comparison comparisons[] = {
    {"=", "=", "=", QT_R_FILTER},   {"<=>", "<=>", "<=>", QT_R_FILTER}, {"<", "<", ">", QT_R_RANGE},
    {">", ">", "<", QT_R_RANGE},    {"<=", "<=", ">=", QT_R_RANGE},     {">=", ">=", "<=", QT_R_RANGE},
    {"<>", "<>", "<>", QT_R_RANGE}, {"!=", "<>", "<>", QT_R_RANGE},
};

static const struct comparison *comparison_at(const struct qt_grammar *g)
{
    for (size_t i = 0; g->t.kind == QT_T_OPERATOR && i < sizeof comparisons / sizeof *comparisons; i++)
        if (qt_is_op(g, comparisons[i].written))
            return &comparisons[i];
    return NULL;
}

/* Gives `role` to the columns of one side that have no role yet. */
static void give(struct qt_grammar *g, const struct qt_side *s, int role, const char *op)
{
    for (size_t i = s->from; i < s->to; i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        if (c->role != QT_R_NONE || c->scope != g->scope)
            continue;
        c->role = (uint8_t)role;
        c->op = op;
        c->plain = s->kind == QT_SIDE_COLUMN || s->kind == QT_SIDE_ROW;
    }
}

static void wrapped(struct qt_grammar *g, struct qt_side s, int role, const char *op)
{
    s.kind = QT_SIDE_MIXED;
    give(g, &s, role, op);
}

static void with_value(struct qt_grammar *g, const struct qt_side *column, const struct qt_side *value, int role,
                       const char *op)
{
    give(g, column, role, op);
    if (column->kind != QT_SIDE_COLUMN || role != QT_R_FILTER)
        return;
    qt_column_at(g, column->from)->value = value->value;
    qt_column_at(g, column->from)->value_end = value->value_end;
    qt_column_at(g, column->from)->parameter = value->parameter;
}

static void compare(struct qt_grammar *g, const struct comparison *how, const struct qt_side *a,
                    const struct qt_side *b)
{
    if (!g->filtering || g->bad)
        return;
    if (a->kind == QT_SIDE_COLUMN && b->kind == QT_SIDE_COLUMN) {
        struct qt_column_use *x = qt_column_at(g, a->from), *y = qt_column_at(g, b->from);
        if (x->role != QT_R_NONE || y->role != QT_R_NONE)
            return;
        x->other = (int32_t)b->from;
        y->other = (int32_t)a->from;
        give(g, a, QT_R_JOIN, how->op);
        give(g, b, QT_R_JOIN, how->flipped);
    } else if (b->kind == QT_SIDE_CONST) {
        with_value(g, a, b, how->role, how->op);
    } else if (a->kind == QT_SIDE_CONST) {
        with_value(g, b, a, how->role, how->flipped);
    } else {
        wrapped(g, *a, how->role, how->op);
        wrapped(g, *b, how->role, how->flipped);
    }
}

/* Parses the right side of a comparison: operands, or a query after ALL, ANY or SOME. */
static void right_side(struct qt_grammar *g, struct qt_side *s)
{
    if (g->w != QT_W_all && g->w != QT_W_any && g->w != QT_W_some) {
        qt_operands(g, s);
        return;
    }
    struct qt_place at = qt_here(g);
    qt_advance(g);
    if (g->t.kind != QT_T_OPEN)
        qt_back(g, &at);
    qt_operands(g, s);
}

static void in_list(struct qt_grammar *g, const struct qt_side *left, int not)
{
    struct qt_side s;
    size_t from = qt_n_columns(g);
    if (qt_query_ahead(g)) {
        struct qt_place at = qt_here(g);
        qt_operands(g, &s); /* a query in parentheses, or a list whose first item is a query */
        if (g->bad)
            qt_back(g, &at);
        else
            goto done;
    }
    qt_need_kind(g, QT_T_OPEN);
    do
        g->expression(g, &s);
    while (!g->bad && qt_take_kind(g, QT_T_COMMA));
    qt_need_kind(g, QT_T_CLOSE);
done:
    if (!g->filtering || g->bad)
        return;
    s = (struct qt_side){.kind = QT_SIDE_MIXED, .from = from, .to = qt_n_columns(g)};
    give(g, left, not ? QT_R_RANGE : QT_R_FILTER, not ? "not in" : "in");
    if (qt_has_role(g, from))
        qt_within(g, from, s.to);
    give(g, &s, not ? QT_R_RANGE : QT_R_FILTER, "in");
}

static void ranges(struct qt_grammar *g, const struct qt_side *left, const char *op, struct qt_side *with)
{
    if (!g->filtering || g->bad)
        return;
    give(g, left, QT_R_RANGE, op);
    if (with != NULL && qt_has_role(g, with->from))
        qt_within(g, with->from, with->to);
    if (with != NULL)
        wrapped(g, *with, QT_R_RANGE, op);
}

static void between(struct qt_grammar *g, const struct qt_side *left, int not)
{
    struct qt_side low, high;
    qt_operands(g, &low);
    qt_need(g, QT_W_and);
    qt_operands(g, &high);
    ranges(g, left, not ? "not between" : "between", &low);
    ranges(g, left, not ? "not between" : "between", &high);
}

static void like(struct qt_grammar *g, const struct qt_side *left, const char *op)
{
    struct qt_side with;
    qt_operands(g, &with);
    if (qt_take(g, QT_W_escape))
        qt_operands(g, &(struct qt_side){0});
    ranges(g, left, op, &with);
}

static void is(struct qt_grammar *g, const struct qt_side *left)
{
    int not = qt_take(g, QT_W_not);
    if (g->w == QT_W_json) {
        qt_advance(g);
        if (g->t.kind == QT_T_WORD && !(qt_word_flags[g->w] & QT_W_RESERVED))
            qt_advance(g);
    } else if (g->w == QT_W_null || g->w == QT_W_true || g->w == QT_W_false || g->w == QT_W_unknown) {
        int null = g->w == QT_W_null;
        qt_advance(g);
        if (g->filtering && !g->bad)
            give(g, left, not ? QT_R_RANGE : QT_R_FILTER, null ? (not ? "is not null" : "is null") : "is");
    } else {
        qt_expected(g);
    }
}

/* Parses a predicate with a word such as IN or LIKE. Its left side is already parsed. Returns 0 if no such predicate
 * follows. */
static int worded(struct qt_grammar *g, const struct qt_side *left)
{
    struct qt_place at = qt_here(g);
    int not = qt_take(g, QT_W_not), w = g->w;
    if (w != QT_W_in && w != QT_W_between && w != QT_W_like && w != QT_W_regexp && w != QT_W_rlike &&
        (not || (w != QT_W_is && w != QT_W_sounds && w != QT_W_member))) {
        if (not)
            qt_back(g, &at);
        return 0;
    }
    qt_advance(g);
    if (w == QT_W_in)
        in_list(g, left, not);
    else if (w == QT_W_between)
        between(g, left, not);
    else if (w == QT_W_is)
        is(g, left);
    else if (w == QT_W_sounds && !qt_take(g, QT_W_like))
        qt_expected(g);
    else if (w == QT_W_member && qt_take(g, QT_W_of) && g->t.kind != QT_T_OPEN)
        qt_expected(g);
    else
        like(g, left, w == QT_W_like ? (not ? "not like" : "like") : w == QT_W_member ? "member of" : "regexp");
    return 1;
}

static void predicate(struct qt_grammar *g, struct qt_side *s)
{
    size_t from = qt_n_columns(g);
    struct qt_side right;
    int compared = 0;
    qt_operands(g, s);
    while (!g->bad) {
        const struct comparison *how = comparison_at(g);
        size_t seen = qt_n_columns(g);
        int inner = compared || qt_has_role(g, from);
        if (how != NULL) {
            qt_advance(g);
            right_side(g, &right);
            if (qt_has_role(g, seen))
                qt_within(g, seen, qt_n_columns(g));
            compare(g, how, s, &right);
        } else if (!worded(g, s)) {
            break;
        }
        if (inner) /* nested comparison: a = 1 IS NULL, (a = 1) = 0, a = b = c */
            qt_within(g, from, seen);
        s->kind = QT_SIDE_MIXED;
        compared = 1;
    }
    s->from = from;
    s->to = qt_n_columns(g);
    if (compared && !qt_own_columns(g, from))
        s->kind = QT_SIDE_CONST;
    if (compared)
        g->impure++; /* a comparison is not a literal */
}

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
    predicate(g, s);
    if (nots > 0)
        any_of(g, from);
    else if (s->kind == QT_SIDE_COLUMN && g->filtering) /* a column as a whole condition: WHERE active AND ... */
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

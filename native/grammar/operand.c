/* SPDX-License-Identifier: Apache-2.0 */
/* Treats all arithmetic operators as one precedence level. Their order does not change the columns found. */
#include "grammar/operand.h"

/* Takes a word between arguments: CAST(a AS ...), TRIM(BOTH a FROM b), GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR
 * c). */
static int link_word(struct qt_grammar *g)
{
    int w = g->w;
    if (!(qt_word_flags[w] & QT_W_LINK))
        return 0;
    qt_advance(g);
    if (w == QT_W_as || w == QT_W_using || w == QT_W_returning)
        qt_skip_inside(g, w != QT_W_as);
    else if (w == QT_W_on) /* as in NULL ON EMPTY */
        qt_advance(g);
    return 1;
}

static void arguments(struct qt_grammar *g, int word)
{
    struct qt_side s;
    int free = 1; /* an argument may begin at the current token */
    while (!g->bad && g->t.kind != QT_T_CLOSE) {
        if (g->t.kind == QT_T_COMMA) {
            qt_advance(g);
            if (word == QT_W_convert) /* a type follows: CONVERT(a, DECIMAL(10, 2)) */
                qt_skip_inside(g, 0);
            free = 1;
        } else if (link_word(g)) {
            free = 1;
        } else if (qt_is_op(g, "*") && free) {
            qt_advance(g);
        } else if (free) {
            (word == QT_W_position ? g->operands : g->expression)(g, &s); /* IN is no predicate in POSITION(a IN b) */
            free = 0;
        } else {
            qt_expected(g);
        }
    }
}

/* MATCH (a, b) AGAINST (c IN BOOLEAN MODE): records the columns as a filter with the operator `match`. */
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

/* Parses a function call from its opening parenthesis. `word` is the function's name if the grammar knows the name,
 * else QT_W_none. */
static void function(struct qt_grammar *g, int word)
{
    uint8_t filtering = g->filtering;
    size_t from = qt_n_columns(g);
    g->impure++;
    g->filtering = 0;
    qt_need_kind(g, QT_T_OPEN);
    if (word == QT_W_extract || word == QT_W_timestampdiff || word == QT_W_timestampadd || word == QT_W_get_format)
        qt_advance(g); /* unit or type keyword */
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

int qt_query_ahead(const struct qt_grammar *g)
{
    if (g->t.kind != QT_T_OPEN)
        return g->w == QT_W_select || g->w == QT_W_with || g->w == QT_W_table || g->w == QT_W_values;
    struct qt_lexer lexer = g->lexer;
    struct qt_token t = g->t;
    while (t.kind == QT_T_OPEN || t.kind == QT_T_EXECUTABLE)
        qt_lex(&lexer, &t);
    int w = t.kind == QT_T_WORD ? qt_word_find(g->words, t.p, t.len) : QT_W_none;
    return w == QT_W_select || w == QT_W_with || w == QT_W_table || (w == QT_W_values && t.kind == QT_T_WORD);
}

int32_t qt_column_name(struct qt_grammar *g)
{
    struct qt_column_use c = {.scope = g->scope, .other = -1, .table_at = -1, .parameter = -1, .all = 1, .name = g->t};
    qt_advance(g);
    while (g->t.kind == QT_T_DOT) {
        qt_advance(g);
        if (qt_is_op(g, "*")) {
            qt_advance(g);
            return -1;
        }
        if (g->t.kind != QT_T_WORD && g->t.kind != QT_T_QUOTED) {
            qt_expected(g);
            return -1;
        }
        c.schema = c.table;
        c.table = c.name;
        c.name = g->t;
        qt_advance(g);
    }
    if (g->t.kind == QT_T_OPEN) { /* call with a schema name: schema.function( */
        function(g, QT_W_none);
        return -1;
    }
    qt_keep(g, &g->lists.columns, &c, sizeof c);
    return g->bad ? -1 : (int32_t)qt_n_columns(g) - 1;
}

static void parentheses(struct qt_grammar *g, struct qt_side *s)
{
    struct qt_place at = qt_here(g);
    struct qt_side next = {0};
    int columns = 1, n = 1;
    if (qt_query_ahead(g)) {
        qt_advance(g);
        g->query(g);
        if (!g->bad && qt_take_kind(g, QT_T_CLOSE)) {
            g->impure++;
            s->kind = QT_SIDE_CONST;
            return;
        }
        qt_back(g, &at);
    }
    qt_advance(g);
    g->expression(g, s);
    columns &= s->kind == QT_SIDE_COLUMN;
    for (; !g->bad && qt_take_kind(g, QT_T_COMMA); n++) {
        g->expression(g, &next);
        columns &= next.kind == QT_SIDE_COLUMN;
        s->kind = next.kind == QT_SIDE_CONST ? s->kind : QT_SIDE_MIXED;
    }
    qt_need_kind(g, QT_T_CLOSE);
    if (n > 1 && columns)
        s->kind = QT_SIDE_ROW;
}

static void case_of(struct qt_grammar *g)
{
    struct qt_side s;
    uint8_t filtering = g->filtering;
    g->filtering = 0;
    qt_advance(g);
    if (g->w != QT_W_when)
        g->expression(g, &s);
    do {
        qt_need(g, QT_W_when);
        g->expression(g, &s);
        qt_need(g, QT_W_then);
        g->expression(g, &s);
    } while (!g->bad && g->w == QT_W_when);
    if (qt_take(g, QT_W_else))
        g->expression(g, &s);
    qt_need(g, QT_W_end);
    g->impure++;
    g->filtering = filtering;
}

/* Returns the kind of the token after the current token. */
static int kind_ahead(const struct qt_grammar *g, struct qt_token *t)
{
    struct qt_lexer lexer = g->lexer;
    qt_lex(&lexer, t);
    return t->kind;
}

/* Parses an operand that begins with a word. */
static void word(struct qt_grammar *g, struct qt_side *s)
{
    struct qt_token ahead;
    int kind = kind_ahead(g, &ahead), w = g->w;
    int sequence = (w == QT_W_next || w == QT_W_previous) && kind == QT_T_WORD &&
                   qt_word_find(g->words, ahead.p, ahead.len) == QT_W_value;
    if (w == QT_W_case) {
        case_of(g);
    } else if (w == QT_W_exists && kind == QT_T_OPEN) {
        qt_advance(g);
        parentheses(g, s);
    } else if (w == QT_W_binary || (w == QT_W_row && kind == QT_T_OPEN)) {
        int binary = w == QT_W_binary;
        qt_advance(g);
        qt_operand(g, s);
        s->kind = binary && s->kind == QT_SIDE_COLUMN ? QT_SIDE_MIXED : s->kind;
    } else if (w == QT_W_interval) {
        qt_advance(g);
        qt_operands(g, s);
        if (g->t.kind == QT_T_WORD && !(qt_word_flags[g->w] & QT_W_RESERVED))
            qt_advance(g);
        g->impure++;
    } else if ((kind == QT_T_STRING && (w == QT_W_date || w == QT_W_time || w == QT_W_timestamp)) ||
               ((kind == QT_T_STRING || kind == QT_T_NUMBER) && *g->t.p == '_')) {
        do
            qt_advance(g);
        while (g->t.kind == QT_T_STRING || (kind == QT_T_NUMBER && g->t.kind == kind));
    } else if (sequence) { /* sequence: NEXT VALUE FOR s */
        qt_advance(g);
        qt_advance(g);
        qt_need(g, QT_W_for);
        if (qt_column_name(g) >= 0)
            g->lists.columns.len -= sizeof(struct qt_column_use);
        g->impure++;
    } else if (kind == QT_T_OPEN && w != QT_W_in && w != QT_W_and && w != QT_W_or && w != QT_W_not) {
        qt_advance(g);
        function(g, w);
    } else if (qt_word_flags[w] & QT_W_VALUE) {
        g->impure += w != QT_W_null && w != QT_W_true && w != QT_W_false;
        qt_advance(g);
    } else if (qt_word_flags[w] & QT_W_RESERVED) {
        qt_expected(g);
    } else if (qt_column_name(g) >= 0) {
        s->kind = QT_SIDE_COLUMN;
    }
}

/* Parses ODBC escapes: {d '2020-01-01'}, {fn now()} */
static void braces(struct qt_grammar *g, struct qt_side *s)
{
    qt_advance(g);
    if (g->t.kind != QT_T_WORD)
        qt_expected(g);
    qt_advance(g);
    qt_operand(g, s);
    if (!qt_is_op(g, "}"))
        qt_expected(g);
    qt_advance(g);
}

void qt_operand(struct qt_grammar *g, struct qt_side *s)
{
    if (g->bad || ++g->depth > QT_DEPTH) {
        qt_expected(g);
        return;
    }
    s->kind = QT_SIDE_CONST;
    switch (g->t.kind) {
    case QT_T_STRING:
        while (g->t.kind == QT_T_STRING)
            qt_advance(g);
        break;
    case QT_T_PARAM:
    case QT_T_NUMBER:
        qt_advance(g);
        break;
    case QT_T_VARIABLE:
        g->impure++;
        qt_advance(g);
        break;
    case QT_T_SYSTEM:
        g->impure++;
        do
            qt_advance(g);
        while (g->t.kind == QT_T_WORD && qt_take_kind(g, QT_T_WORD) && g->t.kind == QT_T_DOT);
        break;
    case QT_T_OPEN:
        parentheses(g, s);
        break;
    case QT_T_QUOTED:
        s->kind = qt_column_name(g) >= 0 ? QT_SIDE_COLUMN : QT_SIDE_CONST;
        break;
    case QT_T_WORD:
        word(g, s);
        break;
    case QT_T_OPERATOR:
        if (*g->t.p == '{') {
            braces(g, s);
        } else if (g->t.len == 1 && strchr("-+~!", *g->t.p) != NULL) {
            qt_advance(g);
            qt_operand(g, s);
            s->kind = s->kind == QT_SIDE_COLUMN ? QT_SIDE_MIXED : s->kind;
        } else {
            qt_expected(g);
        }
        break;
    default:
        qt_expected(g);
    }
    g->depth--;
}

static int is_arithmetic(const struct qt_grammar *g)
{
    if (g->t.kind != QT_T_OPERATOR)
        return g->w == QT_W_div || g->w == QT_W_mod;
    return (g->t.len == 1 && strchr("+-*/%&|^", *g->t.p) != NULL) || qt_is_op(g, "<<") || qt_is_op(g, ">>") ||
           qt_is_op(g, ":=");
}

/* Parses a JSON path operator or a COLLATE clause after an operand. Returns 1 if the text has either of them. */
static int behind_operand(struct qt_grammar *g)
{
    if (qt_is_op(g, "->") || qt_is_op(g, "->>")) {
        qt_advance(g);
        if (g->t.kind != QT_T_STRING && g->t.kind != QT_T_PARAM)
            qt_expected(g);
        qt_advance(g);
        return 1;
    }
    if (qt_take(g, QT_W_collate)) {
        if (g->t.kind != QT_T_WORD && g->t.kind != QT_T_QUOTED && g->t.kind != QT_T_STRING)
            qt_expected(g);
        qt_advance(g);
        return 1;
    }
    return 0;
}

void qt_operands(struct qt_grammar *g, struct qt_side *s)
{
    const char *begin = g->t.p;
    int64_t parameter = g->t.kind == QT_T_PARAM ? g->parameters : -1;
    int64_t parameters = g->parameters;
    uint64_t impure = g->impure;
    size_t from = qt_n_columns(g);
    struct qt_side next;
    int more = 0, signs = g->t.kind == QT_T_OPERATOR || g->w == QT_W_interval;
    qt_operand(g, s);
    while (!g->bad) {
        if (behind_operand(g)) {
            more = 1;
        } else if (is_arithmetic(g)) {
            qt_advance(g);
            more = 1;
            if (g->t.kind == QT_T_CLOSE || g->t.kind == QT_T_COMMA) /* `?+` in a normalized text */
                break;
            qt_operand(g, &next);
        } else {
            break;
        }
    }
    if ((more || signs) && qt_has_role(g, from)) /* comparison inside an operation: (a = 1) + 1, !(a = 1) */
        qt_within(g, from, qt_n_columns(g));
    if (more || s->kind == QT_SIDE_CONST)
        s->kind = qt_own_columns(g, from) ? QT_SIDE_MIXED : QT_SIDE_CONST;
    s->from = from;
    s->to = qt_n_columns(g);
    s->parameter = more ? -1 : parameter;
    s->value = s->kind == QT_SIDE_CONST && g->impure == impure && g->parameters == parameters ? begin : NULL;
    s->value_end = g->behind;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A name is a table's behind FROM, JOIN, UPDATE, INTO, TABLE and their like, and behind a comma of such a list. FROM
 * counts only where the same parentheses hold a SELECT or DELETE before it: EXTRACT(YEAR FROM d) names none. Names of
 * WITH count as tables until their definition ends, for WITH t AS (SELECT * FROM t) reads a table t. */
#include "sql/tables.h"

#include "sql/names.h"
#include "sql/table_reader.h"

/* What a list of tables ends with. */
static int ends_list(int k)
{
    return k == QT_K_where || k == QT_K_having || k == QT_K_limit || k == QT_K_set || k == QT_K_values ||
           k == QT_K_union || k == QT_K_except || k == QT_K_intersect || k == QT_K_by || k == QT_K_procedure ||
           k == QT_K_returning || k == QT_K_into || k == QT_K_share || k == QT_K_select;
}

/* DROP TABLE a, b; not ALTER TABLE a ADD b INT, ADD c INT. */
static int takes_many(int first)
{
    return first == QT_K_drop || first == QT_K_lock || first == QT_K_rename || first == QT_K_analyze ||
           first == QT_K_optimize || first == QT_K_check || first == QT_K_repair || first == QT_K_checksum ||
           first == QT_K_flush;
}

static void table_word(struct qt_table_reader *r, int k)
{
    int shown = r->first == QT_K_show && r->previous != QT_K_create;
    if (shown || r->first == QT_K_unlock ||
        (k == QT_K_view && r->first != QT_K_create && r->first != QT_K_alter && r->first != QT_K_drop &&
         r->first != QT_K_show))
        return;
    r->expect = 2;
    qt_tables_level(r)->list = (uint8_t)takes_many(r->first);
}

static void update_word(struct qt_table_reader *r)
{
    if (r->previous == QT_K_key || r->previous == QT_K_for) {
        qt_tables_level(r)->list = 0;
    } else if (r->previous != QT_K_on && r->first != QT_K_grant && r->first != QT_K_revoke) {
        qt_tables_level(r)->list = 1;
        r->expect = 1;
    }
}

/* Does one name follow, and no list? */
static int leads_alone(struct qt_table_reader *r, int k)
{
    switch (k) {
    case QT_K_to:
        return r->first == QT_K_rename;
    case QT_K_rename:
        return r->first == QT_K_alter;
    case QT_K_like:
        return r->first == QT_K_create && !qt_tables_level(r)->query;
    case QT_K_for: /* NEXT VALUE FOR */
        return r->previous == QT_K_value;
    case QT_K_truncate:
    case QT_K_handler:
        return r->words == 0;
    default:
        return 0;
    }
}

/* Behind these a table's name follows, under their conditions. */
static void leading_word(struct qt_table_reader *r, int k)
{
    switch (k) {
    case QT_K_from:
    case QT_K_in:
        if (r->shows) {
            r->shows = 0;
            r->expect = 2;
        } else if (k == QT_K_from && qt_tables_level(r)->query && r->previous != QT_K_distinct) {
            qt_tables_level(r)->list = 1;
            r->expect = 1;
        }
        break;
    case QT_K_join: /* not USE INDEX FOR JOIN (i) */
        r->expect = r->previous != QT_K_for;
        break;
    case QT_K_update:
        update_word(r);
        break;
    case QT_K_insert:
    case QT_K_replace:
        r->expect = r->previous != QT_K_or && r->first != QT_K_grant && r->first != QT_K_revoke ? 2 : 0;
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

/* DESC t, EXPLAIN t; not EXPLAIN EXTENDED SELECT, EXPLAIN FORMAT = JSON ... */
static void explained(struct qt_table_reader *r)
{
    size_t before = r->names->tables.len;
    if (!qt_tables_is_name(&r->t) || qt_tables_is_reserved(r->t.kind == QT_T_WORD ? r->t.keyword : QT_K_NONE))
        return;
    qt_tables_read_name(r, 1);
    if (r->t.kind == QT_T_OPERATOR || (r->t.kind == QT_T_WORD && (qt_keyword_flags[r->t.keyword] & QT_KW_VERB)))
        r->names->tables.len = before;
}

/* Words that are no keywords, and mean something here. */
static void other_word(struct qt_table_reader *r)
{
    static const char *const shown[] = {"columns", "fields", "indexes", "keys", NULL};
    const struct qt_token *t = &r->t;
    int joins = qt_tables_level(r)->list && qt_name_is(t, "straight_join");
    int refers = (r->first == QT_K_create || r->first == QT_K_alter) && qt_name_is(t, "references");
    if (r->first == QT_K_show)
        for (const char *const *name = shown; *name != NULL; name++)
            r->shows |= (uint8_t)qt_name_is(t, *name);
    if (qt_tables_level(r)->list && qt_name_is(t, "window"))
        qt_tables_level(r)->list = 0;
    qt_tables_read_name(r, 0);
    if (joins || refers)
        r->expect = joins ? 1 : 2;
}

static void word(struct qt_table_reader *r)
{
    int k = r->t.kind == QT_T_WORD ? r->t.keyword : QT_K_NONE, expected = r->expect;
    if (expected && k != QT_K_table && k != QT_K_tables && qt_tables_is_modifier(&r->t)) {
        qt_tables_next(r);
        return;
    }
    r->expect = 0;
    if (expected && k != QT_K_table && k != QT_K_tables && !qt_tables_is_reserved(k) && !qt_name_is(&r->t, "column")) {
        qt_tables_read_name(r, 1);
        return;
    }
    if (k == QT_K_NONE) {
        other_word(r);
        return;
    }
    if (r->words == 0)
        r->first = k;
    if (ends_list(k))
        qt_tables_level(r)->list = 0;
    if (k == QT_K_select || k == QT_K_delete)
        qt_tables_level(r)->query = 1;
    leading_word(r, k);
    qt_tables_next(r);
    if (k == QT_K_with && r->t.keyword != QT_K_table)
        qt_tables_read_cte(r);
    else if (k == QT_K_using && qt_tables_level(r)->list && r->first == QT_K_delete && r->t.kind != QT_T_OPEN)
        r->expect = 1;
    else if (r->words == 0 && (k == QT_K_desc || k == QT_K_describe || k == QT_K_explain))
        explained(r);
    else if (r->words == 0 && k == QT_K_call && qt_tables_is_name(&r->t))
        qt_tables_read_name(r, 0);
    r->previous = k;
    r->words++;
}

static void open(struct qt_table_reader *r)
{
    int joined = r->expect == 1;
    int sequence = r->previous == QT_K_nextval || r->previous == QT_K_setval || r->previous == QT_K_lastval;
    r->depth++;
    *qt_tables_level(r) = (struct qt_table_level){.list = (uint8_t)joined};
    r->expect = joined ? 1 : sequence ? 2 : 0;
    r->previous = QT_K_NONE;
    qt_tables_next(r);
}

static void token(struct qt_table_reader *r)
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
        qt_tables_close(r);
        return;
    case QT_T_SEMICOLON:
        qt_tables_begin_statement(r);
        break;
    case QT_T_COMMA:
        r->expect = qt_tables_level(r)->list;
        break;
    case QT_T_EXECUTABLE:
    case QT_T_COMMENT_END:
        break;
    case QT_T_OPERATOR: /* { OJ a LEFT JOIN b ... } */
        r->expect = *r->t.p == '{' ? r->expect : 0;
        r->previous = QT_K_NONE;
        break;
    default:
        r->expect = 0;
        r->previous = QT_K_NONE;
        break;
    }
    qt_tables_next(r);
}

int qt_names_read(struct qt_names *names, const struct qt_lexer *lexer)
{
    struct qt_table_reader r = {.lexer = *lexer, .names = names};
    names->tables.len = names->calls.len = 0;
    qt_tables_begin_statement(&r);
    for (qt_tables_next(&r); r.t.kind != QT_T_END && !r.bad;)
        token(&r);
    return r.bad ? -1 : 0;
}

void qt_names_free(struct qt_names *names)
{
    qt_bytes_free(&names->tables);
    qt_bytes_free(&names->calls);
}

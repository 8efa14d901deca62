/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/table_reader.h"

#include <string.h>

#include "sql/names.h"

struct qt_table_level *qt_tables_level(struct qt_table_reader *r)
{
    return &r->levels[r->depth < QT_TABLE_LEVELS ? r->depth : QT_TABLE_LEVELS - 1];
}

void qt_tables_next(struct qt_table_reader *r)
{
    qt_lex(&r->lexer, &r->t);
    while (r->t.kind == QT_T_HINT) {
        while (r->t.kind != QT_T_COMMENT_END && r->t.kind != QT_T_END)
            qt_lex(&r->lexer, &r->t);
        if (r->t.kind == QT_T_COMMENT_END)
            qt_lex(&r->lexer, &r->t);
    }
}

int qt_tables_is_name(const struct qt_token *t) { return t->kind == QT_T_WORD || t->kind == QT_T_QUOTED; }

static int is_plain(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((qt_char_class[(unsigned char)p[i]] & (QT_C_IDENT | QT_C_DIGIT)) == 0)
            return 0;
    return len > 0;
}

static void add_part(struct qt_table_reader *r, struct qt_bytes *to, const struct qt_token *t)
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

/* Keeps the name written behind `from` unless it is there already. */
static void end_name(struct qt_table_reader *r, struct qt_bytes *to, size_t from)
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

static int is_cte(const struct qt_table_reader *r, const struct qt_token *t)
{
    for (size_t i = 0; i < r->n_ctes; i++)
        if (same(&r->ctes[i], t))
            return 1;
    return 0;
}

/* At a name: reads it with its schema. `as_table` 0 = it counts only where it is called. */
void qt_tables_read_name(struct qt_table_reader *r, int as_table)
{
    struct qt_token first = r->t;
    struct qt_bytes *to = as_table ? &r->names->tables : &r->names->calls;
    size_t from = to->len, parts = 1;
    int whole = 1, called;
    add_part(r, to, &r->t);
    for (qt_tables_next(r); r->t.kind == QT_T_DOT; parts++) {
        qt_tables_next(r);
        whole = qt_tables_is_name(&r->t);
        if (!whole)
            break;
        r->bad |= qt_bytes_add(to, ".", 1) != 0;
        add_part(r, to, &r->t);
        qt_tables_next(r);
    }
    called = r->t.kind == QT_T_OPEN;
    if (!whole || (as_table ? (called && qt_tables_level(r)->list) ||
                                  (parts == 1 && (is_cte(r, &first) || qt_name_is(&first, "dual")))
                            : !called && r->first != QT_K_call))
        to->len = from;
    else
        end_name(r, to, from);
    r->previous = QT_K_NONE;
    r->words++;
}

/* Words that stand between UPDATE, INTO, TABLE, ... and the name. */
int qt_tables_is_modifier(const struct qt_token *t)
{
    static const char *const words[] = {"low_priority", "high_priority", "delayed", "ignore", "into",       "if", "not",
                                        "exists",       "only",          "lateral", "oj",     "concurrent", "to", "as",
                                        "table",        "tables",        NULL};
    for (const char *const *w = words; t->kind == QT_T_WORD && *w != NULL; w++)
        if (qt_name_is(t, *w))
            return 1;
    return 0;
}

/* Keywords that no table is named by without quotes. */
int qt_tables_is_reserved(int k)
{
    return k == QT_K_select || k == QT_K_values || k == QT_K_with || k == QT_K_on || k == QT_K_using ||
           k == QT_K_where || k == QT_K_set || k == QT_K_from || k == QT_K_join || k == QT_K_by || k == QT_K_for ||
           k == QT_K_key || k == QT_K_index || k == QT_K_in || k == QT_K_like || k == QT_K_limit || k == QT_K_read ||
           k == QT_K_write || k == QT_K_union || k == QT_K_insert || k == QT_K_update || k == QT_K_delete ||
           k == QT_K_replace || k == QT_K_null || k == QT_K_procedure;
}

/* WITH [RECURSIVE] name [(columns)] AS ( : at the word behind WITH, or behind the comma before another name. */
void qt_tables_read_cte(struct qt_table_reader *r)
{
    struct qt_token name;
    int recursive = r->t.kind == QT_T_WORD && qt_name_is(&r->t, "recursive");
    if (recursive)
        qt_tables_next(r);
    if (!qt_tables_is_name(&r->t))
        return;
    name = r->t;
    qt_tables_next(r);
    if (r->t.kind == QT_T_OPEN) {
        while (r->t.kind != QT_T_CLOSE && r->t.kind != QT_T_END)
            qt_tables_next(r);
        if (r->t.kind == QT_T_CLOSE)
            qt_tables_next(r);
    }
    if (r->t.kind != QT_T_WORD || r->t.keyword != QT_K_as)
        return;
    qt_tables_next(r);
    if (r->t.kind != QT_T_OPEN)
        return;
    qt_tables_next(r);
    r->depth++;
    *qt_tables_level(r) = (struct qt_table_level){.cte = name};
    if (recursive && r->n_ctes < QT_TABLE_CTES)
        r->ctes[r->n_ctes++] = name;
}

void qt_tables_close(struct qt_table_reader *r)
{
    struct qt_token cte = qt_tables_level(r)->cte;
    if (r->depth > 0)
        r->depth--;
    r->expect = 0;
    qt_tables_next(r);
    if (cte.len == 0)
        return;
    if (!is_cte(r, &cte) && r->n_ctes < QT_TABLE_CTES)
        r->ctes[r->n_ctes++] = cte;
    if (r->t.kind == QT_T_COMMA) {
        qt_tables_next(r);
        qt_tables_read_cte(r);
    }
}

void qt_tables_begin_statement(struct qt_table_reader *r)
{
    r->depth = r->n_ctes = r->words = 0;
    r->levels[0] = (struct qt_table_level){0};
    r->first = r->previous = QT_K_NONE;
    r->expect = r->on_table = r->shows = 0;
}

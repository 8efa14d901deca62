/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/resolve.h"

static int is_meant(const struct qt_table_use *t, const struct qt_column_use *c)
{
    if (t->alias.len > 0)
        return c->schema.len == 0 && qt_same_name(&t->alias, &c->table);
    return qt_same_name(&t->name, &c->table) &&
           (c->schema.len == 0 || t->schema.len == 0 || qt_same_name(&t->schema, &c->schema));
}

static int32_t found(const struct qt_grammar *g, size_t i)
{
    return qt_table_at(g, i)->derived ? QT_DERIVED_TABLE : (int32_t)i;
}

/* Finds the table of a column in one scope: by the qualifier, or because the scope has only one table. Sets `none` if
 * the scope has no such table. */
static int32_t look(const struct qt_grammar *g, const struct qt_column_use *c, int32_t scope, int *none)
{
    int32_t only = QT_NO_TABLE;
    int n = 0;
    *none = 0;
    for (size_t i = 0; i < qt_n_tables(g); i++) {
        if (qt_table_at(g, i)->scope != scope)
            continue;
        if (c->table.len > 0 && is_meant(qt_table_at(g, i), c))
            return found(g, i);
        only = found(g, i);
        n++;
    }
    *none = n == 0 || c->table.len > 0;
    return n == 1 ? only : QT_NO_TABLE;
}

static int32_t table_of(const struct qt_grammar *g, const struct qt_column_use *c)
{
    if (c->table_at >= 0)
        return found(g, (size_t)c->table_at);
    for (int32_t scope = c->scope; scope >= 0; scope = qt_scope_at(g, scope)->parent) {
        int none;
        int32_t table = look(g, c, scope, &none);
        if (!none)
            return table;
    }
    return QT_NO_TABLE;
}

/* Changes a join such as a.x = a.y to a filter or range. Both columns are in one row, so an index does not help. */
static void unjoin(struct qt_grammar *g, struct qt_column_use *c)
{
    struct qt_column_use *other = c->other >= 0 ? qt_column_at(g, (size_t)c->other) : NULL;
    if (c->role != QT_R_JOIN || other == NULL || c->table_at != other->table_at || c->table_at < 0)
        return;
    int equal = strchr(c->op, '=') != NULL && strlen(c->op) != 2;
    c->role = other->role = equal ? QT_R_FILTER : QT_R_RANGE;
    c->plain = other->plain = 0;
    other->other = -1;
    c->other = -1;
}

void qt_resolve(struct qt_grammar *g)
{
    size_t n = qt_n_columns(g), tables = qt_n_tables(g);
    for (size_t i = 0; i < tables; i++) {
        struct qt_table_use *t = qt_table_at(g, i);
        if (t->scope >= 0 && qt_scope_at(g, t->scope)->lock && t->access == QT_A_READ)
            t->access = QT_A_LOCK;
    }
    for (size_t i = 0; i < n; i++)
        qt_column_at(g, i)->table_at = table_of(g, qt_column_at(g, i));
    for (size_t i = 0; i < n; i++) {
        struct qt_column_use *c = qt_column_at(g, i);
        unjoin(g, c);
        if (c->role == QT_R_SET && c->table_at >= 0)
            qt_table_at(g, (size_t)c->table_at)->access = QT_A_WRITE;
    }
}

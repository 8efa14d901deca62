/* SPDX-License-Identifier: Apache-2.0 */
/* stream in: id, statement, digest -> parsed -> stream out: a row for each statement, table, column and join
 *   (for KEYS and ROWS the input stream also has params)
 *
 *   what     tbl    name    role               op          other columns
 *   parsed   -      -       -                  -           or other, failed: value is the token where parsing failed
 *   table    table  alias   read, lock, write  -
 *   column   table  column  filter, range, ..  =, in, asc  plain: no expression around it; all_rows: no OR around it;
 *                                                          value, or parameter: the placeholder compared with it
 *   key      table  columns -                  -           KEYS: value has their values; NULL: unknown
 *   limit    -      -       -                  -           ROWS: value is the row count of a text's only LIMIT
 *   join     table  column  -                  =           tbl2, name2: the joined column
 *
 * ROWS covers statements that use one table. ROWS lists the columns that must equal one value (filter) and the columns
 * that are written (set). `value` is the literal or the bound value. `value` is NULL for columns that UPDATE writes.
 *
 * `tbl` is NULL if several tables of the statement could have the column. Columns of subqueries and CTEs are left out.
 * Names are in lower case. Names have quotes only where SQL requires them. */
#include <stdlib.h>

#include "base/arrow_build.h"
#include "base/arrow_stream.h"
#include "base/error.h"
#include "grammar/bound_values.h"
#include "grammar/resolve.h"
#include "grammar/statement.h"

enum { C_ID, C_WHAT, C_TBL, C_NAME, C_ROLE, C_OP, C_TBL2, C_NAME2, C_PLAIN, C_ALL, C_VALUE, C_PARAMETER, N_COLUMNS };

static const struct qt_column_spec specs[N_COLUMNS] = {
    {"id", 'l', 0},    {"what", 'u', 0},     {"tbl", 'u', 1},   {"name", 'u', 1},
    {"role", 'u', 1},  {"op", 'u', 1},       {"tbl2", 'u', 1},  {"name2", 'u', 1},
    {"plain", 'b', 1}, {"all_rows", 'b', 1}, {"value", 'u', 1}, {"parameter", 'l', 1},
};

enum { MAX_KEYS = 16 };

struct parsed_stream {
    struct qt_words words;
    struct qt_keywords keywords;
    struct qt_normalizer *normalizer; /* finds the session mode of a statement by its digest */
    struct qt_grammar grammar;
    struct ArrowArrayStream *in;
    struct qt_rows rows;
    struct qt_columns out;
    struct qt_bytes work; /* buffer for the name or value being written */
    const char *params;   /* bound parameters of the current statement, or NULL */
    size_t params_len;
    int opened, wanted; /* wanted: enum qt_parse_wanted */
};

static int is_plain(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((qt_char_class[(unsigned char)p[i]] & (QT_C_IDENT | QT_C_DIGIT)) == 0)
            return 0;
    return len > 0;
}

static int add_name(struct qt_bytes *to, const struct qt_token *t)
{
    const char *p = t->p;
    size_t len = t->len;
    if (len > 2 && strchr("`'\"", *p) != NULL && is_plain(p + 1, len - 2)) {
        p++;
        len -= 2;
    }
    for (size_t i = 0; i < len; i++) {
        char c = qt_lower(p[i]);
        if (qt_bytes_add(to, &c, 1) != 0)
            return -1;
    }
    return 0;
}

static int put_name(struct parsed_stream *s, int column, const struct qt_token *schema, const struct qt_token *name)
{
    struct qt_column *to = &s->out.col[column];
    s->work.len = 0;
    if (name == NULL || name->len == 0) {
        qt_col_null(to);
        return 0;
    }
    if (schema != NULL && schema->len > 0 && (add_name(&s->work, schema) != 0 || qt_bytes_add(&s->work, ".", 1) != 0))
        return -1;
    if (add_name(&s->work, name) != 0)
        return -1;
    qt_col_any_text(to, s->work.p, s->work.len);
    return 0;
}

static int put_table(struct parsed_stream *s, int column, int32_t at)
{
    const struct qt_table_use *t = at >= 0 ? qt_table_at(&s->grammar, (size_t)at) : NULL;
    return put_name(s, column, t == NULL ? NULL : &t->schema, t == NULL ? NULL : &t->name);
}

static void put_text(struct parsed_stream *s, int column, const char *text)
{
    if (text == NULL)
        qt_col_null(&s->out.col[column]);
    else
        qt_col_text(&s->out.col[column], text);
}

static void nulls(struct parsed_stream *s, int from, int to)
{
    for (int i = from; i <= to; i++)
        qt_col_null(&s->out.col[i]);
}

static int table_row(struct parsed_stream *s, int64_t id, size_t i)
{
    static const char *const ACCESS[] = {"read", "lock", "write"};
    const struct qt_table_use *t = qt_table_at(&s->grammar, i);
    if (t->derived)
        return 0;
    qt_col_i64(&s->out.col[C_ID], id);
    put_text(s, C_WHAT, "table");
    if (put_table(s, C_TBL, (int32_t)i) != 0 || put_name(s, C_NAME, NULL, &t->alias) != 0)
        return -1;
    put_text(s, C_ROLE, ACCESS[t->access]);
    nulls(s, C_OP, C_PARAMETER);
    return 0;
}

static int column_row(struct parsed_stream *s, int64_t id, const struct qt_column_use *c)
{
    static const char *const ROLES[] = {NULL, "filter", "range", "join", "group", "order", "set", NULL};
    if (ROLES[c->role] == NULL || c->table_at == QT_DERIVED_TABLE)
        return 0;
    qt_col_i64(&s->out.col[C_ID], id);
    put_text(s, C_WHAT, "column");
    if (put_table(s, C_TBL, c->table_at) != 0 || put_name(s, C_NAME, NULL, &c->name) != 0)
        return -1;
    put_text(s, C_ROLE, ROLES[c->role]);
    put_text(s, C_OP, c->op);
    nulls(s, C_TBL2, C_NAME2);
    qt_col_bool(&s->out.col[C_PLAIN], c->plain);
    qt_col_bool(&s->out.col[C_ALL], c->all);
    if (c->value != NULL)
        qt_col_any_text(&s->out.col[C_VALUE], c->value, (size_t)(c->value_end - c->value));
    else
        qt_col_null(&s->out.col[C_VALUE]);
    if (c->parameter >= 0)
        qt_col_i64(&s->out.col[C_PARAMETER], c->parameter);
    else
        qt_col_null(&s->out.col[C_PARAMETER]);
    return 0;
}

static int join_row(struct parsed_stream *s, int64_t id, size_t i)
{
    const struct qt_column_use *c = qt_column_at(&s->grammar, i), *other;
    if (c->role != QT_R_JOIN || c->other <= (int32_t)i)
        return 0;
    other = qt_column_at(&s->grammar, (size_t)c->other);
    if (c->table_at == QT_DERIVED_TABLE || other->table_at == QT_DERIVED_TABLE)
        return 0;
    qt_col_i64(&s->out.col[C_ID], id);
    put_text(s, C_WHAT, "join");
    if (put_table(s, C_TBL, c->table_at) != 0 || put_name(s, C_NAME, NULL, &c->name) != 0)
        return -1;
    nulls(s, C_ROLE, C_ROLE);
    put_text(s, C_OP, c->op);
    if (put_table(s, C_TBL2, other->table_at) != 0 || put_name(s, C_NAME2, NULL, &other->name) != 0)
        return -1;
    nulls(s, C_PLAIN, C_PARAMETER);
    return 0;
}

static void statement_row(struct parsed_stream *s, int64_t id, enum qt_parsed how)
{
    static const char *const HOW[] = {"parsed", "other", "failed"};
    const struct qt_token *t = &s->grammar.t;
    qt_col_i64(&s->out.col[C_ID], id);
    put_text(s, C_WHAT, HOW[how]);
    nulls(s, C_TBL, C_ALL);
    if (how == QT_PARSED_NOT)
        qt_col_any_text(&s->out.col[C_VALUE], t->p, t->len < 40 ? t->len : 40);
    else
        qt_col_null(&s->out.col[C_VALUE]);
    nulls(s, C_PARAMETER, C_PARAMETER);
}

/* Returns 1 for a column whose value identifies the rows of a write or a locking read. */
static int is_key(const struct parsed_stream *s, const struct qt_column_use *c)
{
    return c->role == QT_R_FILTER && c->plain && c->all && (c->value != NULL || c->parameter >= 0) &&
           c->table_at >= 0 && strcmp(c->op, "=") == 0 &&
           qt_table_at(&s->grammar, (size_t)c->table_at)->access != QT_A_READ;
}

/* Collects the key columns of one table in the order of their names. Returns the number of key columns. */
static size_t keys_of(const struct parsed_stream *s, size_t table, const struct qt_column_use *keys[MAX_KEYS])
{
    size_t n = 0;
    for (size_t i = 0; i < qt_n_columns(&s->grammar) && n < MAX_KEYS; i++) {
        const struct qt_column_use *c = qt_column_at(&s->grammar, i);
        size_t at = n;
        if (!is_key(s, c) || c->table_at != (int32_t)table)
            continue;
        for (; at > 0; at--) {
            const struct qt_token *a = &keys[at - 1]->name;
            size_t least = a->len < c->name.len ? a->len : c->name.len;
            int order = strncasecmp(a->p, c->name.p, least);
            if (order < 0 || (order == 0 && a->len <= c->name.len))
                break;
            keys[at] = keys[at - 1];
        }
        keys[at] = c;
        n++;
    }
    return n;
}

/* Appends the literal or bound value of a key. Returns 1 if added, 0 if the value is unknown, -1 when out of memory. */
static int add_value(struct parsed_stream *s, const struct qt_column_use *key)
{
    if (key->value == NULL)
        return qt_bound_value(s->params, s->params_len, key->parameter, &s->work);
    return qt_bytes_add(&s->work, key->value, (size_t)(key->value_end - key->value)) == 0 ? 1 : -1;
}

/* Writes a row for a table that is written or locked by key values. `name` lists the columns and `value` lists their
 * values. `value` is NULL if any of the values is unknown. */
static int key_row(struct parsed_stream *s, int64_t id, size_t table)
{
    const struct qt_column_use *keys[MAX_KEYS];
    size_t n = keys_of(s, table, keys);
    int known = 1;
    if (n == 0)
        return 0;
    qt_col_i64(&s->out.col[C_ID], id);
    put_text(s, C_WHAT, "key");
    if (put_table(s, C_TBL, (int32_t)table) != 0)
        return -1;
    s->work.len = 0;
    for (size_t i = 0; i < n; i++)
        if ((i > 0 && qt_bytes_add(&s->work, ", ", 2) != 0) || add_name(&s->work, &keys[i]->name) != 0)
            return -1;
    qt_col_any_text(&s->out.col[C_NAME], s->work.p, s->work.len);
    nulls(s, C_ROLE, C_ALL);
    s->work.len = 0;
    for (size_t i = 0; i < n && known == 1; i++)
        known = i > 0 && qt_bytes_add(&s->work, ", ", 2) != 0 ? -1 : add_value(s, keys[i]);
    if (known < 0)
        return -1;
    if (known == 0)
        qt_col_null(&s->out.col[C_VALUE]);
    else
        qt_col_any_text(&s->out.col[C_VALUE], s->work.p, s->work.len);
    nulls(s, C_PARAMETER, C_PARAMETER);
    return 0;
}

/* Writes a row for the literal or bound value of a column or LIMIT. The caller adds the table and column name. Returns
 * 1 if a row was written, 0 if not, -1 when out of memory. A row with an unknown value is written only if `always` is
 * set. */
static int value_row(struct parsed_stream *s, int64_t id, const struct qt_column_use *c, const char *what, int always)
{
    int known = 0;
    s->work.len = 0;
    if (c->value != NULL || c->parameter >= 0)
        known = add_value(s, c);
    if (known < 0 || (known == 0 && !always))
        return known;
    qt_col_i64(&s->out.col[C_ID], id);
    put_text(s, C_WHAT, what);
    if (known == 1)
        qt_col_any_text(&s->out.col[C_VALUE], s->work.p, s->work.len);
    else
        qt_col_null(&s->out.col[C_VALUE]);
    nulls(s, C_OP, C_ALL);
    nulls(s, C_PARAMETER, C_PARAMETER);
    return 1;
}

static int limit_row(struct parsed_stream *s, int64_t id)
{
    const struct qt_limit *limit = &s->grammar.limit;
    struct qt_column_use c = {.value = limit->value, .value_end = limit->value_end, .parameter = limit->parameter};
    int put = limit->n == 1 ? value_row(s, id, &c, "limit", 0) : 0;
    if (put == 1)
        nulls(s, C_TBL, C_ROLE);
    return put < 0 ? -1 : 0;
}

/* For ROWS: writes the LIMIT and the values that identify the affected rows. The column values are written only if the
 * statement uses one table. */
static int rows_of(struct parsed_stream *s, int64_t id)
{
    const struct qt_grammar *g = &s->grammar;
    if (limit_row(s, id) != 0)
        return -1;
    if (qt_n_tables(g) != 1 || qt_table_at(g, 0)->derived)
        return 0;
    for (size_t i = 0; i < qt_n_columns(g); i++) {
        const struct qt_column_use *c = qt_column_at(g, i);
        int set = c->role == QT_R_SET, put;
        int equal = c->role == QT_R_FILTER && c->plain && c->all && strcmp(c->op, "=") == 0;
        if (c->table_at != 0 || (!set && !equal))
            continue;
        put = value_row(s, id, c, "column", set);
        if (put < 0 || (put == 1 && (put_table(s, C_TBL, 0) != 0 || put_name(s, C_NAME, NULL, &c->name) != 0)))
            return -1;
        if (put == 1)
            put_text(s, C_ROLE, set ? "set" : "filter");
    }
    return 0;
}

/* Returns the mode in which the session read the statement of this row. */
static struct qt_session_mode mode_of(struct parsed_stream *s, int64_t row, const char *sql, size_t len)
{
    struct qt_session_mode mode = {0};
    size_t digits;
    const char *digest = qt_read_bytes(&s->rows, 2, row, &digits);
    char hex[17] = "";
    if (digits == 16) {
        memcpy(hex, digest, digits);
        qt_session_mode_of_digest(s->normalizer, strtoull(hex, NULL, 16), sql, len, &mode);
    }
    return mode;
}

static int statement(struct parsed_stream *s, int64_t id, struct qt_session_mode mode, const char *sql, size_t len)
{
    struct qt_grammar *g = &s->grammar;
    enum qt_parsed how = qt_parse(g, &s->keywords, mode, sql, len);
    if (how == QT_PARSED_NO_MEMORY)
        return -1;
    if (how == QT_PARSED)
        qt_resolve(g);
    if (s->wanted == QT_PARSE_ROWS)
        return how == QT_PARSED ? rows_of(s, id) : 0;
    if (s->wanted == QT_PARSE_PARTS)
        statement_row(s, id, how);
    for (size_t i = 0; how == QT_PARSED && i < qt_n_tables(g); i++)
        if ((s->wanted == QT_PARSE_KEYS ? key_row(s, id, i) : table_row(s, id, i)) != 0)
            return -1;
    for (size_t i = 0; how == QT_PARSED && i < qt_n_columns(g) && s->wanted == QT_PARSE_PARTS; i++)
        if (column_row(s, id, qt_column_at(g, i)) != 0 || join_row(s, id, i) != 0)
            return -1;
    return 0;
}

static int next(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct parsed_stream *s = self;
    int code = s->opened ? QT_OK : qt_rows_open(&s->rows, s->in, s->wanted != QT_PARSE_PARTS ? "lZUZ" : "lZU", err);
    s->opened = 1;
    while (code == QT_OK && qt_columns_rows(&s->out) == 0) {
        code = qt_rows_next(&s->rows, err);
        if (code != QT_OK || s->rows.rows == 0)
            return code;
        for (int64_t row = 0; row < s->rows.rows; row++) {
            size_t len;
            const char *sql = qt_read_bytes(&s->rows, 1, row, &len);
            sql = sql == NULL ? "" : sql;
            s->params = s->wanted != QT_PARSE_PARTS ? qt_read_bytes(&s->rows, 3, row, &s->params_len) : NULL;
            if (statement(s, qt_read_i64(&s->rows, 0, row), mode_of(s, row, sql, len), sql, len) != 0)
                return qt_fail(err, QT_ENOMEM, "out of memory for a statement");
        }
    }
    return code == QT_OK ? qt_columns_finish(&s->out, out, err) : code;
}

static void close_stream(void *self)
{
    struct parsed_stream *s = self;
    qt_rows_close(&s->rows);
    qt_columns_free(&s->out);
    qt_grammar_free(&s->grammar);
    qt_normalizer_free(s->normalizer);
    qt_bytes_free(&s->work);
    free(s);
}

int qt_parse_stream(struct ArrowArrayStream *in, int32_t wanted, struct ArrowArrayStream *out, struct qt_error *err)
{
    struct parsed_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory");
    s->normalizer = qt_normalizer_new();
    qt_words_init(&s->words);
    qt_keywords_init(&s->keywords);
    qt_grammar_init(&s->grammar, &s->words);
    s->in = in;
    s->wanted = wanted;
    struct qt_stream_source source = {specs, N_COLUMNS, next, close_stream, s};
    int code = qt_columns_init(&s->out, specs, N_COLUMNS);
    if (code == QT_OK && s->normalizer == NULL)
        code = qt_fail(err, QT_ENOMEM, "out of memory");
    if (code == QT_OK)
        code = qt_stream_make(out, &source, err);
    if (code != QT_OK) {
        qt_columns_free(&s->out);
        qt_normalizer_free(s->normalizer);
        free(s);
    }
    return code;
}

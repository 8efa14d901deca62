/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership in a finished batch: each child frees its own buffers, and the parent frees only the containers. A reader
 * may therefore move a child out of its parent (copy the struct, clear its `release`). The child may outlive the
 * parent.
 *
 *     parent ArrowArray ── private_data: struct batch { buffers[1], pointers[n], child structs[n] }
 *        child ArrowArray ── private_data: struct child { buffers[3]: validity, offsets or values, bytes } */
#include "base/arrow_build.h"

#include <stdlib.h>

enum { FIRST_ROWS = 1024, FIRST_BYTES = 16384 };

struct child {
    const void *buffers[3];
};

struct batch {
    const void *buffers[1];
    struct ArrowArray **pointers;
    struct ArrowArray *children;
};

static int is_bytes(char type) { return type == 'u' || type == 'z'; }

static size_t get_width(char type)
{
    switch (type) {
    case 'l':
        return 8;
    case 'i':
        return 4;
    default:
        return 1;
    }
}

int qt_columns_init(struct qt_columns *cols, const struct qt_column_spec *specs, int32_t n)
{
    cols->specs = specs;
    cols->n = n;
    cols->col = calloc((size_t)n, sizeof *cols->col);
    cols->pool = qt_pool_new();
    if (cols->col == NULL || cols->pool == NULL) {
        free(cols->col);
        qt_pool_free(cols->pool);
        cols->col = NULL;
        cols->pool = NULL;
        return QT_ENOMEM;
    }
    for (int32_t i = 0; i < n; i++) {
        cols->col[i].type = specs[i].type;
        cols->col[i].pool = cols->pool;
    }
    return QT_OK;
}

static int fail(struct qt_column *c)
{
    c->failed = 1;
    return 0;
}

/* Replaces `*block`, which has `used` bytes of content, with a block of `size` bytes. Returns 0 when out of memory. The
 * old block then stays valid. */
static int resize(struct qt_column *c, void *block, size_t used, size_t size)
{
    void *old, *new;
    memcpy(&old, block, sizeof old);
    new = qt_buffer_resize(c->pool, old, used, size);
    if (new == NULL)
        return 0;
    memcpy(block, &new, sizeof new);
    return 1;
}

int qt_column_grow(struct qt_column *c)
{
    int64_t space = c->row_space > 0 ? c->row_space * 2 : c->row_hint > 0 ? c->row_hint : FIRST_ROWS;
    size_t rows = (size_t)c->rows, row = get_width(c->type);

    if (c->failed)
        return 0;
    if (is_bytes(c->type)) {
        size_t used = c->offsets != NULL ? (rows + 1) * sizeof *c->offsets : 0;
        if (!resize(c, &c->offsets, used, (size_t)(space + 1) * sizeof *c->offsets))
            return fail(c);
        c->offsets[0] = 0;
    } else if (!resize(c, &c->data, rows * row, (size_t)space * row)) {
        return fail(c);
    }
    if (c->valid != NULL && !resize(c, &c->valid, rows, (size_t)space))
        return fail(c);
    c->row_space = space;
    return 1;
}

int qt_column_grow_bytes(struct qt_column *c, int64_t more)
{
    int64_t space = c->space > 0 ? c->space : c->hint > 0 ? c->hint : FIRST_BYTES;

    if (c->failed || more > INT32_MAX - c->used)
        return fail(c);
    while (space < c->used + more)
        space *= 2;
    if (!resize(c, &c->data, (size_t)c->used, (size_t)space))
        return fail(c);
    c->space = space;
    return 1;
}

int qt_column_first_null(struct qt_column *c)
{
    c->valid = qt_buffer_new(c->pool, (size_t)c->row_space);
    if (c->valid == NULL)
        return fail(c);
    memset(c->valid, 1, (size_t)c->rows);
    return 1;
}

void qt_col_null(struct qt_column *c) { qt_column_pad(c, c->rows + 1); }

void qt_column_pad(struct qt_column *c, int64_t rows)
{
    if (c->rows >= rows || c->failed)
        return;
    while (c->row_space < rows)
        if (!qt_column_grow(c))
            return;
    if (c->valid == NULL && !qt_column_first_null(c))
        return;
    size_t more = (size_t)(rows - c->rows);
    if (is_bytes(c->type))
        for (int64_t i = c->rows; i < rows; i++)
            c->offsets[i + 1] = (int32_t)c->used;
    else
        memset(c->data + (size_t)c->rows * get_width(c->type), 0, more * get_width(c->type));
    memset(c->valid + c->rows, 0, more);
    c->rows = rows;
    c->nulls += (int64_t)more;
}

void qt_column_pad_last(struct qt_column *c, int64_t rows)
{
    if (c->rows > 0 || rows == 0 || c->failed) {
        qt_column_pad(c, rows);
        return;
    }
    void *zeros = qt_buffer_zeros(c->pool, (size_t)(rows + 1) * sizeof(int64_t));
    c->valid = qt_buffer_zeros(c->pool, (size_t)(rows + 1) * sizeof(int64_t));
    qt_buffer_free(c->offsets);
    qt_buffer_free(c->data);
    c->offsets = is_bytes(c->type) ? zeros : NULL;
    c->data = is_bytes(c->type) ? NULL : zeros;
    c->rows = c->nulls = rows;
    c->row_space = c->space = 0; /* row_space 0 also marks the shared zeros as read-only */
    if (zeros == NULL || c->valid == NULL)
        fail(c);
}

void qt_columns_clear(struct qt_columns *cols)
{
    for (int32_t i = 0; i < cols->n; i++) {
        struct qt_column *c = &cols->col[i];
        qt_buffer_free(c->valid);
        c->valid = NULL;
        if (c->row_space == 0) {
            qt_buffer_free(c->data);
            qt_buffer_free(c->offsets);
            c->data = NULL;
            c->offsets = NULL;
        }
        c->rows = c->nulls = c->used = 0;
        c->failed = 0;
    }
}

void qt_columns_free(struct qt_columns *cols)
{
    for (int32_t i = 0; cols->col != NULL && i < cols->n; i++) {
        qt_buffer_free(cols->col[i].data);
        qt_buffer_free(cols->col[i].offsets);
        qt_buffer_free(cols->col[i].valid);
    }
    qt_pool_free(cols->pool);
    cols->pool = NULL;
    free(cols->col);
    cols->col = NULL;
    cols->n = 0;
}

int64_t qt_columns_bytes(const struct qt_columns *cols)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < cols->n; i++) {
        const struct qt_column *c = &cols->col[i];
        sum += c->used + c->rows * (is_bytes(c->type) ? 4 : (int64_t)get_width(c->type));
    }
    return sum;
}

/* Packs each non-zero byte into one bit, least significant bit first. Works in place, because the bits never overwrite
 * bytes that are still unread. */
static void pack_bits(uint8_t *bytes, int64_t n)
{
    for (int64_t at = 0; at < n; at += 8) {
        uint8_t bits = 0;
        for (int64_t k = 0; k < 8 && at + k < n; k++)
            bits |= (uint8_t)((bytes[at + k] != 0) << k);
        bytes[at / 8] = bits;
    }
}

static void release_child(struct ArrowArray *array)
{
    struct child *own = array->private_data;
    for (int i = 0; i < 3; i++)
        qt_buffer_free((void *)(uintptr_t)own->buffers[i]);
    free(own);
    array->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
    struct batch *own = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    free(own->children);
    free(own->pointers);
    free(own);
    array->release = NULL;
}

/* Hands the column's memory over to `out`. Cannot fail, because `own` is already allocated. */
static void finish_column(struct qt_column *c, struct child *own, struct ArrowArray *out)
{
    if (c->valid != NULL && c->nulls < c->rows) /* all-NULL columns use zeros that other columns share */
        pack_bits(c->valid, c->rows);
    if (c->type == 'b' && c->data != NULL && c->nulls < c->rows)
        pack_bits((uint8_t *)c->data, c->rows);
    own->buffers[0] = c->valid;
    own->buffers[1] = is_bytes(c->type) ? (const void *)c->offsets : c->data;
    own->buffers[2] = is_bytes(c->type) ? c->data : NULL;
    *out = (struct ArrowArray){
        .length = c->rows,
        .null_count = c->nulls,
        .n_buffers = is_bytes(c->type) ? 3 : 2,
        .buffers = own->buffers,
        .release = release_child,
        .private_data = own,
    };
    c->valid = NULL;
    c->offsets = NULL;
    c->data = NULL;
    c->row_hint = c->row_space > c->rows ? c->row_space : c->rows;
    c->hint = c->space;
    c->rows = c->nulls = c->used = c->row_space = c->space = 0;
}

/* Checks that all columns have the same number of rows. Also allocates the offsets buffer that even an empty batch
 * needs. */
static int check_columns(struct qt_columns *cols, struct qt_error *err)
{
    for (int32_t i = 0; i < cols->n; i++) {
        struct qt_column *c = &cols->col[i];
        if (is_bytes(c->type) && c->offsets == NULL && !c->failed)
            qt_column_grow(c);
        if (c->failed)
            return qt_fail(err, QT_ENOMEM, "column %s: out of memory, or more than 2 GB in one batch",
                           cols->specs[i].name);
        if (c->rows != cols->col[0].rows)
            return qt_fail(err, QT_ESTATE, "column %s has %lld rows, but the first column has %lld",
                           cols->specs[i].name, (long long)c->rows, (long long)cols->col[0].rows);
    }
    return QT_OK;
}

/* Returns NULL when out of memory. */
static struct batch *new_batch(int32_t n)
{
    struct batch *own = calloc(1, sizeof *own);
    if (own == NULL)
        return NULL;
    own->pointers = calloc((size_t)n, sizeof(struct ArrowArray *));
    own->children = calloc((size_t)n, sizeof *own->children);
    for (int32_t i = 0; own->pointers != NULL && own->children != NULL && i < n; i++) {
        own->pointers[i] = &own->children[i];
        own->children[i].private_data = calloc(1, sizeof(struct child));
        if (own->children[i].private_data == NULL) {
            while (i-- > 0)
                free(own->children[i].private_data);
            free(own->children);
            own->children = NULL;
        }
    }
    if (own->pointers != NULL && own->children != NULL)
        return own;
    free(own->pointers);
    free(own->children);
    free(own);
    return NULL;
}

int qt_columns_finish(struct qt_columns *cols, struct ArrowArray *out, struct qt_error *err)
{
    struct batch *own;
    int64_t rows;
    int code = check_columns(cols, err);

    if (code == QT_OK && (own = new_batch(cols->n)) == NULL)
        code = qt_fail(err, QT_ENOMEM, "out of memory for a batch");
    if (code != QT_OK) {
        qt_columns_clear(cols);
        return code;
    }
    rows = cols->col[0].rows;
    for (int32_t i = 0; i < cols->n; i++)
        finish_column(&cols->col[i], own->children[i].private_data, &own->children[i]);
    *out = (struct ArrowArray){
        .length = rows,
        .n_buffers = 1,
        .n_children = cols->n,
        .buffers = own->buffers,
        .children = own->pointers,
        .release = release_batch,
        .private_data = own,
    };
    return QT_OK;
}

/* Memory of one field of a schema. Each child schema owns its format and name, because readers may move children out of
 * the schema. */
struct field {
    char format[2];
    char name[];
};

static void release_field(struct ArrowSchema *schema)
{
    free(schema->private_data);
    schema->release = NULL;
}

static void release_struct(struct ArrowSchema *schema)
{
    struct ArrowSchema *children = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
    free(schema->children);
    free(children);
    schema->release = NULL;
}

static int fill_field(const struct qt_column_spec *spec, struct ArrowSchema *out)
{
    size_t len = strlen(spec->name) + 1;
    struct field *own = malloc(sizeof *own + len);
    if (own == NULL)
        return QT_ENOMEM;
    own->format[0] = spec->type;
    own->format[1] = 0;
    memcpy(own->name, spec->name, len);
    *out = (struct ArrowSchema){
        .format = own->format,
        .name = own->name,
        .flags = spec->nullable ? ARROW_FLAG_NULLABLE : 0,
        .release = release_field,
        .private_data = own,
    };
    return QT_OK;
}

int qt_columns_schema(const struct qt_column_spec *specs, int32_t n, struct ArrowSchema *out)
{
    struct ArrowSchema *children = calloc((size_t)n, sizeof *children);
    struct ArrowSchema **pointers = calloc((size_t)n, sizeof(struct ArrowSchema *));
    struct ArrowSchema whole = {
        .format = "+s",
        .name = "",
        .n_children = n,
        .children = pointers,
        .release = release_struct,
        .private_data = children,
    };
    int code = children == NULL || pointers == NULL ? QT_ENOMEM : QT_OK;

    if (code != QT_OK) {
        free(children);
        free(pointers);
        return code;
    }
    for (int32_t i = 0; i < n; i++)
        pointers[i] = &children[i];
    for (int32_t i = 0; i < n && code == QT_OK; i++)
        code = fill_field(&specs[i], &children[i]);
    if (code == QT_OK)
        *out = whole;
    else
        release_struct(&whole);
    return code;
}

/* The two functions that replace invalid UTF-8 share one check of a sequence. Columns get U+FFFD. Texts that are
 * repaired in place get '?'. */

size_t qt_utf8_sequence(const unsigned char *p, size_t len)
{
    unsigned char a = p[0], low = 0x80, high = 0xBF;
    size_t n = a < 0x80 ? 1 : a >= 0xC2 && a <= 0xDF ? 2 : a >= 0xE0 && a <= 0xEF ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
    if (n == 0 || n > len)
        return 0;
    low = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : low;
    high = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : high;
    for (size_t i = 1; i < n; i++, low = 0x80, high = 0xBF)
        if (p[i] < low || p[i] > high)
            return 0;
    return n;
}

void qt_col_any_text(struct qt_column *c, const char *text, size_t len)
{
    size_t at = 0, out = 0;
    while (at < len && (signed char)text[at] >= 0)
        at++;
    char *clean = at < len ? malloc(len * 3) : NULL;
    if (clean == NULL) { /* all ASCII (the usual case), or out of memory: append only the leading ASCII bytes */
        qt_col_bytes(c, text, at);
        return;
    }
    for (at = 0; at < len;) {
        size_t n = qt_utf8_sequence((const unsigned char *)text + at, len - at);
        memcpy(clean + out, n ? text + at : "\xEF\xBF\xBD", n ? n : 3);
        out += n ? n : 3;
        at += n ? n : 1;
    }
    qt_col_bytes(c, clean, out);
    free(clean);
}

void qt_utf8_repair(char *text)
{
    size_t left = strlen(text), n;
    for (; left > 0; text += n, left -= n) {
        n = qt_utf8_sequence((const unsigned char *)text, left);
        if (n == 0) {
            *text = '?';
            n = 1;
        }
    }
}

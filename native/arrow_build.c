/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   qt_col_*(row)  ->  values[], offsets[], bytes[], valid[] (a byte a row, made at the first NULL)
 *   qt_columns_finish  ->  struct ArrowArray { children: one a column }, which owns all of them
 *
 * Validity and booleans are kept as bytes while rows come and are packed into bits once, at the end.
 */
#include "arrow_build.h"

#include <stdlib.h>

#define FIRST_ROWS 1024u
#define FIRST_BYTES 16384u

static size_t width(char format)
{
    return format == 'l' ? 8 : format == 'b' ? 1 : 4;
}

int qt_columns_init(struct qt_columns *c, const struct qt_column_spec *specs, size_t n)
{
    memset(c, 0, sizeof *c);
    c->specs = specs;
    c->n_columns = n;
    c->columns = calloc(n, sizeof *c->columns);
    if (c->columns == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        c->columns[i].format = specs[i].format[0];
    return 0;
}

void qt_columns_free(struct qt_columns *c)
{
    for (size_t i = 0; c->columns != NULL && i < c->n_columns; i++) {
        free(c->columns[i].valid);
        free(c->columns[i].values);
        free(c->columns[i].bytes);
    }
    free(c->columns);
    memset(c, 0, sizeof *c);
}

int qt_columns_room(struct qt_columns *c)
{
    if (c->rows < c->room)
        return 0;
    size_t room = c->room ? c->room * 2 : c->hint > FIRST_ROWS ? c->hint : FIRST_ROWS;
    for (size_t i = 0; i < c->n_columns; i++) {
        struct qt_column *col = &c->columns[i];
        void *values = realloc(col->values, (room + 1) * width(col->format));
        if (values == NULL)
            return -1;
        if (col->values == NULL)
            memset(values, 0, width(col->format));
        col->values = values;
        if (col->valid != NULL) {
            uint8_t *valid = realloc(col->valid, room);
            if (valid == NULL)
                return -1;
            col->valid = valid;
        }
    }
    c->room = room;
    return 0;
}

int qt_col_make_valid(struct qt_columns *c, size_t column)
{
    uint8_t *valid = malloc(c->room);
    if (valid == NULL)
        return -1;
    memset(valid, 1, c->rows);
    c->columns[column].valid = valid;
    return 0;
}

int qt_col_more_bytes(struct qt_column *col, size_t len)
{
    size_t room = col->bytes_room ? col->bytes_room : col->bytes_hint > FIRST_BYTES ? col->bytes_hint : FIRST_BYTES;
    if (len > INT32_MAX - col->n_bytes)
        return -1;
    while (room - col->n_bytes < len)
        room *= 2;
    char *bytes = realloc(col->bytes, room);
    if (bytes == NULL)
        return -1;
    col->bytes = bytes;
    col->bytes_room = room;
    return 0;
}

/* Length of the well-formed UTF-8 sequence at p, 0 where there is none (Unicode 15, table 3-7). */
static size_t utf8_sequence(const unsigned char *p, size_t len)
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

int qt_col_text(struct qt_columns *c, size_t column, const char *text, size_t len)
{
    struct qt_column *col = &c->columns[column];
    size_t at = 0;
    while (at < len && (signed char)text[at] >= 0)
        at++;
    if (at == len)
        return qt_col_bytes(c, column, text, len);
    if (len > INT32_MAX / 3 || (col->bytes_room - col->n_bytes < len * 3 && qt_col_more_bytes(col, len * 3) != 0))
        return -1;
    for (at = 0; at < len;) {
        size_t n = utf8_sequence((const unsigned char *)text + at, len - at);
        memcpy(col->bytes + col->n_bytes, n ? text + at : "\xEF\xBF\xBD", n ? n : 3);
        col->n_bytes += n ? n : 3;
        at += n ? n : 1;
    }
    ((int32_t *)col->values)[c->rows + 1] = (int32_t)col->n_bytes;
    if (col->valid != NULL)
        col->valid[c->rows] = 1;
    return 0;
}

/* ---- finishing ---- */

struct owned {
    void *memory[3];
    const void *buffers[3];
};

static void release_child(struct ArrowArray *array)
{
    struct owned *own = array->private_data;
    for (int i = 0; i < 3; i++)
        free(own->memory[i]);
    free(own);
    array->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    free(array->private_data);
    array->release = NULL;
}

/* Packs bytes into bits, in place: byte i/8 is written only after byte i was read. */
static void pack(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint8_t bits = 0;
        for (size_t k = 0; k < 8 && i + k < n; k++)
            bits |= (uint8_t)((bytes[i + k] != 0) << k);
        bytes[i / 8] = bits;
    }
}

static int finish_column(struct qt_column *col, size_t rows, struct ArrowArray *out)
{
    struct owned *own = calloc(1, sizeof *own);
    if (own == NULL)
        return -1;
    memset(out, 0, sizeof *out);
    out->length = (int64_t)rows;
    if (col->valid != NULL) {
        for (size_t i = 0; i < rows; i++)
            out->null_count += !col->valid[i];
        pack(col->valid, rows);
    }
    if (col->format == 'b')
        pack(col->values, rows);
    int text = col->format == 'u' || col->format == 'z';
    own->memory[0] = col->valid;
    own->memory[1] = col->values;
    own->memory[2] = text ? (col->bytes != NULL ? col->bytes : calloc(1, 1)) : NULL;
    memcpy(own->buffers, own->memory, sizeof own->buffers);
    out->n_buffers = text ? 3 : 2;
    out->buffers = own->buffers;
    out->private_data = own;
    out->release = release_child;
    col->valid = NULL;
    col->values = NULL;
    col->bytes = NULL;
    col->bytes_hint = col->n_bytes + col->n_bytes / 16;
    col->n_bytes = col->bytes_room = 0;
    return 0;
}

int qt_columns_finish(struct qt_columns *c, struct ArrowArray *out)
{
    memset(out, 0, sizeof *out);
    if (c->room == 0 && qt_columns_room(c) != 0)
        return -1;
    out->children = calloc(c->n_columns, sizeof *out->children);
    out->private_data = calloc(1, sizeof(void *)); /* the struct's one buffer: no validity */
    out->release = release_batch;
    if (out->children == NULL || out->private_data == NULL) {
        release_batch(out);
        return -1;
    }
    for (size_t i = 0; i < c->n_columns; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        if (out->children[i] == NULL || finish_column(&c->columns[i], c->rows, out->children[i]) != 0) {
            out->n_children = (int64_t)i + (out->children[i] != NULL);
            release_batch(out);
            return -1;
        }
        out->n_children = (int64_t)i + 1;
    }
    out->length = (int64_t)c->rows;
    out->n_buffers = 1;
    out->buffers = out->private_data;
    c->hint = c->rows + c->rows / 16;
    c->rows = c->room = 0;
    return 0;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    schema->release = NULL;
}

int qt_columns_schema(const struct qt_column_spec *specs, size_t n, struct ArrowSchema *out)
{
    memset(out, 0, sizeof *out);
    out->format = "+s";
    out->name = "";
    out->release = release_schema;
    out->children = calloc(n, sizeof *out->children);
    if (out->children == NULL)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct ArrowSchema *child = calloc(1, sizeof *child);
        if (child == NULL) {
            release_schema(out);
            return -1;
        }
        child->format = specs[i].format;
        child->name = specs[i].name;
        child->flags = ARROW_FLAG_NULLABLE;
        child->release = release_schema;
        out->children[i] = child;
        out->n_children = (int64_t)i + 1;
    }
    return 0;
}

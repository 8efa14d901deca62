/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   "PAR1" | row group: a chunk a column | row group ... | footer | its length | "PAR1"
 *
 * https://parquet.apache.org/docs/file-format/ and parquet-format's parquet.thrift, whose numbers these are.
 */
#include "parquet/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/chunk.h"
#include "parquet/thrift.h"

enum { GROUP_ROWS = 122880 }; /* as many as DuckDB writes: its readers share the groups out */
enum { BOOLEAN = 0, INT32 = 1, INT64 = 2, BYTE_ARRAY = 6 };
enum { UTF8 = 0, INT_32 = 17, INT_64 = 18, NOT_CONVERTED = -1 };
enum { OPTIONAL = 1, UNPACKED = 0, ZSTD = 6 };
enum { FILE_BUFFER = 256 << 10 };
static const char MAGIC[4] = {'P', 'A', 'R', '1'};

struct group {
    struct qt_bytes columns; /* the list of ColumnChunk, as the footer has it */
    int64_t rows, raw_bytes, bytes;
};

struct qt_parquet {
    struct qt_page_writer pages;
    int32_t n_columns, room;
    char *types;
    char **names;
    struct group *groups;
    size_t n_groups;
    int64_t rows;
    char *buffer;
};

struct qt_parquet *qt_parquet_new(void)
{
    struct qt_parquet *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->buffer = malloc(FILE_BUFFER);
    if (qt_page_writer_new(&p->pages) == 0 && p->buffer != NULL)
        return p;
    qt_parquet_free(p);
    return NULL;
}

static void forget_file(struct qt_parquet *p)
{
    if (p->pages.file != NULL)
        (void)fclose(p->pages.file);
    p->pages.file = NULL;
    for (int32_t i = 0; i < p->n_columns; i++)
        free(p->names[i]);
    free(p->names);
    free(p->types);
    p->names = NULL;
    p->types = NULL;
    for (size_t i = 0; i < p->n_groups; i++)
        qt_bytes_free(&p->groups[i].columns);
    free(p->groups);
    p->groups = NULL;
    p->n_columns = 0;
    p->n_groups = 0;
    p->rows = p->pages.at = 0;
}

void qt_parquet_free(struct qt_parquet *p)
{
    if (p == NULL)
        return;
    forget_file(p);
    qt_page_writer_free(&p->pages);
    free(p->buffer);
    free(p);
}

static int no_memory(struct qt_error *error) { return qt_fail(error, QT_ENOMEM, "out of memory for a part"); }

static int take_columns(struct qt_parquet *p, const struct ArrowSchema *schema, struct qt_error *error)
{
    if (strcmp(schema->format, "+s") != 0)
        return qt_fail(error, QT_EFORMAT, "expected a stream of rows, found %s", schema->format);
    p->names = calloc((size_t)schema->n_children + 1, sizeof *p->names);
    p->types = calloc((size_t)schema->n_children + 1, 1);
    if (p->names == NULL || p->types == NULL)
        return no_memory(error);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *column = schema->children[i];
        if (strlen(column->format) != 1 || strchr("ilbuz", column->format[0]) == NULL)
            return qt_fail(error, QT_EFORMAT, "column %s: Arrow format %s is none that a part can have", column->name,
                           column->format);
        p->types[i] = column->format[0];
        p->names[i] = strdup(column->name);
        if (p->names[i] == NULL)
            return no_memory(error);
        p->n_columns++;
    }
    return QT_OK;
}

int qt_parquet_begin(struct qt_parquet *p, const char *path, const struct ArrowSchema *schema, struct qt_error *error)
{
    forget_file(p);
    int code = take_columns(p, schema, error);
    if (code != QT_OK)
        return code;
    p->pages.file = fopen(path, "wbe");
    if (p->pages.file == NULL)
        return qt_fail(error, QT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    (void)setvbuf(p->pages.file, p->buffer, _IOFBF, FILE_BUFFER);
    return qt_page_writer_put(&p->pages, MAGIC, sizeof MAGIC, error);
}

static int physical_type(char type)
{
    return type == 'l' ? INT64 : type == 'i' ? INT32 : type == 'b' ? BOOLEAN : BYTE_ARRAY;
}

static int converted_type(char type)
{
    return type == 'l' ? INT_64 : type == 'i' ? INT_32 : type == 'u' ? UTF8 : NOT_CONVERTED;
}

static void describe_range(struct qt_thrift *t, char type, const struct qt_chunk *chunk)
{
    uint8_t low[8], high[8];
    qt_put_le(low, (uint64_t)chunk->low, 8);
    qt_put_le(high, (uint64_t)chunk->high, 8);
    size_t size = type == 'l' ? 8 : 4;
    qt_thrift_open(t, 12);
    qt_thrift_i64(t, 3, chunk->nulls);
    if (chunk->has_range && (type == 'u' || type == 'z')) {
        qt_thrift_text(t, 5, chunk->most.p, chunk->most.len);
        qt_thrift_text(t, 6, chunk->least.p, chunk->least.len);
    } else if (chunk->has_range) {
        qt_thrift_text(t, 5, high, size);
        qt_thrift_text(t, 6, low, size);
    }
    qt_thrift_close(t);
}

/* ColumnChunk, an item of a list. */
static void describe_chunk(struct qt_thrift *t, char type, const char *name, const struct qt_chunk *chunk)
{
    int32_t encodings[] = {0, 3, 8}; /* PLAIN, RLE, RLE_DICTIONARY */
    size_t n = chunk->dictionary_at < 0 ? 2 : 3;
    qt_thrift_item(t);
    qt_thrift_i64(t, 2, chunk->dictionary_at < 0 ? chunk->data_at : chunk->dictionary_at);
    qt_thrift_open(t, 3);
    qt_thrift_i32(t, 1, physical_type(type));
    qt_thrift_list(t, 2, QT_THRIFT_I32, n);
    for (size_t i = 0; i < n; i++)
        qt_thrift_item_i32(t, encodings[i]);
    qt_thrift_list(t, 3, QT_THRIFT_BINARY, 1);
    qt_thrift_item_text(t, name);
    qt_thrift_i32(t, 4, chunk->zstd ? ZSTD : UNPACKED);
    qt_thrift_i64(t, 5, chunk->rows);
    qt_thrift_i64(t, 6, chunk->raw_bytes);
    qt_thrift_i64(t, 7, chunk->bytes);
    qt_thrift_i64(t, 9, chunk->data_at);
    if (chunk->dictionary_at >= 0)
        qt_thrift_i64(t, 11, chunk->dictionary_at);
    describe_range(t, type, chunk);
    qt_thrift_close(t);
    qt_thrift_close(t);
}

static int add_group(struct qt_parquet *p, const struct ArrowArray *batch, size_t first, size_t rows,
                     struct qt_error *error)
{
    struct group *groups = realloc(p->groups, (p->n_groups + 1) * sizeof *groups);
    if (groups == NULL)
        return no_memory(error);
    p->groups = groups;
    struct group *group = &groups[p->n_groups++];
    memset(group, 0, sizeof *group);
    group->rows = (int64_t)rows;
    struct qt_thrift t = {.out = &group->columns, .depth = 1};
    for (int32_t i = 0; i < p->n_columns; i++) {
        struct qt_parquet_column column = qt_parquet_column_of(batch->children[i], p->types[i]);
        struct qt_chunk chunk;
        int code = qt_chunk_write(&p->pages, &column, (size_t)batch->offset + first, rows, &chunk, error);
        if (code != QT_OK)
            return code;
        describe_chunk(&t, p->types[i], p->names[i], &chunk);
        group->raw_bytes += chunk.raw_bytes;
        group->bytes += chunk.bytes;
    }
    return t.failed ? no_memory(error) : QT_OK;
}

int qt_parquet_add(struct qt_parquet *p, const struct ArrowArray *batch, struct qt_error *error)
{
    int code = QT_OK;
    size_t rows = (size_t)batch->length;
    if (batch->n_children != p->n_columns)
        return qt_fail(error, QT_EFORMAT, "expected %d columns, found %lld", p->n_columns,
                       (long long)batch->n_children);
    for (size_t first = 0; code == QT_OK && first < rows; first += GROUP_ROWS)
        code = add_group(p, batch, first, rows - first < GROUP_ROWS ? rows - first : GROUP_ROWS, error);
    p->rows += batch->length;
    return code;
}

static void describe_columns(struct qt_thrift *t, const struct qt_parquet *p)
{
    qt_thrift_list(t, 2, QT_THRIFT_STRUCT, (size_t)p->n_columns + 1);
    qt_thrift_item(t);
    qt_thrift_text(t, 4, "rows", 4);
    qt_thrift_i32(t, 5, p->n_columns);
    qt_thrift_close(t);
    for (int32_t i = 0; i < p->n_columns; i++) {
        qt_thrift_item(t);
        qt_thrift_i32(t, 1, physical_type(p->types[i]));
        qt_thrift_i32(t, 3, OPTIONAL);
        qt_thrift_text(t, 4, p->names[i], strlen(p->names[i]));
        if (converted_type(p->types[i]) != NOT_CONVERTED)
            qt_thrift_i32(t, 6, converted_type(p->types[i]));
        qt_thrift_close(t);
    }
}

static void describe_file(struct qt_thrift *t, const struct qt_parquet *p)
{
    qt_thrift_i32(t, 1, 1);
    describe_columns(t, p);
    qt_thrift_i64(t, 3, p->rows);
    qt_thrift_list(t, 4, QT_THRIFT_STRUCT, p->n_groups);
    for (size_t i = 0; i < p->n_groups; i++) {
        const struct group *group = &p->groups[i];
        qt_thrift_item(t);
        qt_thrift_list(t, 1, QT_THRIFT_STRUCT, (size_t)p->n_columns);
        if (qt_bytes_add(t->out, group->columns.p, group->columns.len) != 0)
            t->failed = 1;
        qt_thrift_i64(t, 2, group->raw_bytes);
        qt_thrift_i64(t, 3, group->rows);
        qt_thrift_i64(t, 6, group->bytes);
        qt_thrift_close(t);
    }
    qt_thrift_text(t, 6, "querytape", 9);
    qt_thrift_list(t, 7, QT_THRIFT_STRUCT, (size_t)p->n_columns); /* ranges are in the order of each type */
    for (int32_t i = 0; i < p->n_columns; i++) {
        qt_thrift_item(t);
        qt_thrift_open(t, 1);
        qt_thrift_close(t);
        qt_thrift_close(t);
    }
    qt_thrift_end(t);
}

int qt_parquet_end(struct qt_parquet *p, struct qt_error *error)
{
    struct qt_bytes footer = {0};
    struct qt_thrift t = {.out = &footer};
    describe_file(&t, p);
    int failed = t.failed || qt_bytes_add_int(&footer, footer.len, 4) != 0 || qt_bytes_add(&footer, MAGIC, 4) != 0;
    int code = failed ? no_memory(error) : qt_page_writer_put(&p->pages, footer.p, footer.len, error);
    qt_bytes_free(&footer);
    if (code == QT_OK && fflush(p->pages.file) != 0)
        code = qt_fail(error, QT_EIO, "a part cannot be written: %s", strerror(errno));
    forget_file(p);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   stream -> batch -> one Parquet file
 *                   -> what tape.json says of its rows: which columns hold anything, from when to when
 */
#include "parquet/part.h"

#include <stdlib.h>
#include <string.h>

#include "parquet/file.h"
#include "parquet/parquet_column.h"

struct qt_part_writer {
    struct qt_parquet *file;
};

struct qt_part_writer *qt_part_writer_new(void)
{
    struct qt_part_writer *w = calloc(1, sizeof *w);
    if (w == NULL || (w->file = qt_parquet_new()) != NULL)
        return w;
    free(w);
    return NULL;
}

void qt_part_writer_free(struct qt_part_writer *w)
{
    if (w == NULL)
        return;
    qt_parquet_free(w->file);
    free(w);
}

static int stream_failed(struct ArrowArrayStream *stream, int failed, struct qt_error *error)
{
    const char *text = stream->get_last_error(stream);
    return qt_fail(error, failed == 12 ? QT_ENOMEM : QT_EIO, "%s", text != NULL ? text : "a stream failed");
}

/* The place of a column of numbers by its name; -1 = there is none. */
static int64_t place_of(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0 && strcmp(schema->children[i]->format, "l") == 0)
            return i;
    return -1;
}

static struct qt_parquet_column column_at(const struct ArrowArray *batch, int64_t place)
{
    struct qt_parquet_column none = {.type = 0};
    return place < 0 ? none : qt_parquet_column_of(batch->children[place], 'l');
}

static void add_times(const struct ArrowSchema *schema, const struct ArrowArray *batch, struct qt_part *out)
{
    struct qt_parquet_column start = column_at(batch, place_of(schema, "start_ns"));
    struct qt_parquet_column duration = column_at(batch, place_of(schema, "duration_ns"));
    struct qt_parquet_column precision = column_at(batch, place_of(schema, "precision_ns"));
    if (start.type == 0 || duration.type == 0 || precision.type == 0)
        return;
    for (size_t row = (size_t)batch->offset; row < (size_t)(batch->offset + batch->length); row++) {
        int64_t first = qt_parquet_number(&start, row), last = first, exact = qt_parquet_number(&precision, row);
        if (qt_parquet_valid(&duration, row))
            last += qt_parquet_number(&duration, row);
        out->first_ns = first < out->first_ns ? first : out->first_ns;
        out->last_ns = last > out->last_ns ? last : out->last_ns;
        out->precision_ns = exact > out->precision_ns ? exact : out->precision_ns;
    }
}

static void add_known(const struct ArrowArray *batch, struct qt_part *out)
{
    for (int64_t i = 0; i < batch->n_children && i < 64; i++)
        if (batch->children[i]->null_count < batch->children[i]->length)
            out->known |= (uint64_t)1 << i;
}

static int write_batches(struct qt_part_writer *w, struct ArrowArrayStream *stream, const struct ArrowSchema *schema,
                         const char *path, struct qt_part *out, struct qt_error *error)
{
    int begun = 0, code = QT_OK;
    while (code == QT_OK) {
        struct ArrowArray batch = {.release = NULL};
        int failed = stream->get_next(stream, &batch);
        if (failed)
            return stream_failed(stream, failed, error);
        if (batch.release == NULL)
            break;
        if (batch.length > 0 && !begun)
            code = qt_parquet_begin(w->file, path, schema, error);
        begun |= batch.length > 0;
        if (code == QT_OK && batch.length > 0)
            code = qt_parquet_add(w->file, &batch, error);
        add_times(schema, &batch, out);
        add_known(&batch, out);
        out->rows += batch.length;
        batch.release(&batch);
    }
    return code == QT_OK && begun ? qt_parquet_end(w->file, error) : code;
}

int qt_part_write(struct qt_part_writer *w, struct ArrowArrayStream *stream, const char *path, struct qt_part *out,
                  struct qt_error *error)
{
    struct ArrowSchema schema = {.release = NULL};
    *out = (struct qt_part){.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    int failed = stream->get_schema(stream, &schema);
    if (failed)
        return stream_failed(stream, failed, error);
    int code = write_batches(w, stream, &schema, path, out, error);
    if (schema.release != NULL)
        schema.release(&schema);
    return code;
}

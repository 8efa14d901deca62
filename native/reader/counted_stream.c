/* SPDX-License-Identifier: Apache-2.0 */
/* Collects properties of the rows that pass through a stream:
 *
 *   stream -> batch -> reader of the stream
 *                   -> properties for tape.json: which columns have values, first and last time */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arrow_abi.h"
#include "base/error.h"
#include "querytape.h"

enum { START, DURATION, PRECISION, N_PLACES };
static const char *const NAMES[N_PLACES] = {"start_ns", "duration_ns", "precision_ns"};

struct qt_counted_stream {
    struct ArrowArrayStream inner; /* owned */
    struct ArrowArray ahead;       /* the first batch, read ahead; release == NULL = none */
    int64_t places[N_PLACES];      /* indexes of the columns in NAMES; -1 = missing */
    struct qt_part_facts facts;
};

static int find_places(struct qt_counted_stream *w)
{
    struct ArrowSchema schema = {.release = NULL};
    int failed = w->inner.get_schema(&w->inner, &schema);
    if (failed)
        return failed;
    for (int i = 0; i < N_PLACES; i++) {
        w->places[i] = -1;
        for (int64_t c = 0; c < schema.n_children; c++)
            if (strcmp(schema.children[c]->name, NAMES[i]) == 0 && strcmp(schema.children[c]->format, "l") == 0)
                w->places[i] = c;
    }
    failed = schema.n_children > 64 ? EINVAL : 0; /* `known` has one bit per column */
    schema.release(&schema);
    return failed;
}

static int64_t number(const struct ArrowArray *column, int64_t row)
{
    return ((const int64_t *)column->buffers[1])[column->offset + row];
}

static int is_known(const struct ArrowArray *column, int64_t row)
{
    const uint8_t *valid = column->null_count == 0 ? NULL : column->buffers[0];
    int64_t at = column->offset + row;
    return valid == NULL || (valid[at / 8] >> at % 8 & 1);
}

static void add_times(struct qt_counted_stream *w, const struct ArrowArray *batch)
{
    struct qt_part_facts *facts = &w->facts;
    for (int i = 0; i < N_PLACES; i++)
        if (w->places[i] < 0)
            return;
    const struct ArrowArray *start = batch->children[w->places[START]];
    const struct ArrowArray *duration = batch->children[w->places[DURATION]];
    const struct ArrowArray *precision = batch->children[w->places[PRECISION]];
    for (int64_t row = batch->offset; row < batch->offset + batch->length; row++) {
        int64_t first = number(start, row), last = first, exact = number(precision, row);
        if (is_known(duration, row))
            last += number(duration, row);
        facts->first_ns = first < facts->first_ns ? first : facts->first_ns;
        facts->last_ns = last > facts->last_ns ? last : facts->last_ns;
        facts->precision_ns = exact > facts->precision_ns ? exact : facts->precision_ns;
    }
}

static int read_batch(struct qt_counted_stream *w, struct ArrowArray *out)
{
    int failed = w->inner.get_next(&w->inner, out);
    if (failed || out->release == NULL)
        return failed;
    for (int64_t i = 0; i < out->n_children; i++)
        if (out->children[i]->null_count < out->children[i]->length)
            w->facts.known |= (uint64_t)1 << i;
    add_times(w, out);
    w->facts.rows += out->length;
    return 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct qt_counted_stream *w = stream->private_data;
    return w->inner.get_schema(&w->inner, out);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct qt_counted_stream *w = stream->private_data;
    if (w->ahead.release == NULL)
        return read_batch(w, out);
    *out = w->ahead;
    w->ahead.release = NULL;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct qt_counted_stream *w = stream->private_data;
    return w->inner.get_last_error(&w->inner);
}

static void release(struct ArrowArrayStream *stream) { stream->release = NULL; }

struct qt_counted_stream *qt_counted_stream_new(struct ArrowArrayStream *stream, struct qt_error *error)
{
    struct qt_counted_stream *w = calloc(1, sizeof *w);
    if (w == NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory for a stream");
        return NULL;
    }
    w->inner = *stream;
    w->facts = (struct qt_part_facts){.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    int failed = find_places(w);
    if (failed) {
        qt_fail(error, failed == ENOMEM ? QT_ENOMEM : QT_EINVALID, "expected a readable stream of at most 64 columns");
        free(w);
        return NULL;
    }
    stream->release = NULL;
    return w;
}

void qt_counted_stream_free(struct qt_counted_stream *w)
{
    if (w == NULL)
        return;
    if (w->ahead.release != NULL)
        w->ahead.release(&w->ahead);
    w->inner.release(&w->inner);
    free(w);
}

void qt_counted_stream_open(struct qt_counted_stream *w, struct ArrowArrayStream *out)
{
    *out = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = get_last_error,
        .release = release,
        .private_data = w,
    };
}

int qt_counted_stream_read_ahead(struct qt_counted_stream *w, struct qt_error *error)
{
    if (w->ahead.release != NULL || read_batch(w, &w->ahead) == 0)
        return QT_OK;
    const char *text = w->inner.get_last_error(&w->inner);
    return qt_fail(error, QT_EIO, "%s", text != NULL ? text : "a stream failed");
}

const struct qt_part_facts *qt_counted_stream_facts(const struct qt_counted_stream *w) { return &w->facts; }

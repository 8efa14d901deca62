/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow stream callbacks that call the callbacks of a source.
 *
 *   stream.private_data: struct state { source, its last error, has it ended? } ── freed by release */
#include "base/arrow_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arrow_build.h"

struct state {
    struct qt_stream_source source;
    struct qt_error error;
    int ended;
};

/* Converts an error code to an errno, because failing callbacks of the Arrow interface return an errno. */
static int as_errno(int code)
{
    switch (code) {
    case QT_OK:
        return 0;
    case QT_ENOMEM:
        return ENOMEM;
    case QT_EINVALID:
    case QT_EFORMAT:
        return EINVAL;
    default:
        return EIO;
    }
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct state *s = stream->private_data;
    int code = qt_columns_schema(s->source.specs, s->source.n_specs, out);
    if (code != QT_OK)
        qt_fail(&s->error, code, "out of memory for an Arrow schema");
    return as_errno(code);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct state *s = stream->private_data;
    int code = QT_OK;

    *out = (struct ArrowArray){.release = NULL};
    if (!s->ended)
        code = s->source.next(s->source.self, out, &s->error);
    s->ended = s->ended || code != QT_OK || out->release == NULL;
    return as_errno(code);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct state *s = stream->private_data;
    return s->error.code == QT_OK ? NULL : s->error.message;
}

static void release(struct ArrowArrayStream *stream)
{
    struct state *s = stream->private_data;
    if (s->source.close != NULL)
        s->source.close(s->source.self);
    free(s);
    stream->release = NULL;
}

int qt_stream_make(struct ArrowArrayStream *out, const struct qt_stream_source *source, struct qt_error *err)
{
    struct state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for an Arrow stream");
    s->source = *source;
    *out = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = get_last_error,
        .release = release,
        .private_data = s,
    };
    return QT_OK;
}

int qt_drain(struct ArrowArrayStream *stream, uint64_t *rows, struct qt_error *err)
{
    *rows = 0;
    for (;;) {
        struct ArrowArray array = {.release = NULL};
        if (stream->get_next(stream, &array) != 0) {
            const char *text = stream->get_last_error(stream);
            return qt_fail(err, QT_EIO, "%s",
                           text == NULL ? "reading an Arrow stream failed without an error message" : text);
        }
        if (array.release == NULL)
            return QT_OK;
        *rows += (uint64_t)array.length;
        array.release(&array);
    }
}

void qt_stream_release(struct ArrowArrayStream *stream)
{
    if (stream != NULL && stream->release != NULL)
        stream->release(stream);
}

size_t qt_stream_size(void) { return sizeof(struct ArrowArrayStream); }

/* A reader of an incoming stream. The reader keeps the current batch until it takes the next batch or the stream ends.
 * Pointers into the batch are valid until then. */

static int stream_failed(struct ArrowArrayStream *stream, struct qt_error *err)
{
    const char *text = stream->get_last_error(stream);
    return qt_fail(err, QT_EIO, "a stream failed: %s", text == NULL ? "no error message" : text);
}

static int check_schema(const struct ArrowSchema *schema, const char *formats, struct qt_error *err)
{
    if (strcmp(schema->format, "+s") != 0 || schema->n_children != (int64_t)strlen(formats))
        return qt_fail(err, QT_EFORMAT, "expected a stream of %zu columns (%s), found %lld columns", strlen(formats),
                       formats, (long long)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *c = schema->children[i];
        if (c->format[0] != formats[i] || c->format[1] != 0 || c->dictionary != NULL)
            return qt_fail(err, QT_EFORMAT, "column %lld (%s): expected Arrow format %c, found %s%s", (long long)i + 1,
                           c->name == NULL ? "" : c->name, formats[i], c->format,
                           strchr("UZ", formats[i]) != NULL ? "; in DuckDB, run SET arrow_large_buffer_size=true" : "");
    }
    return QT_OK;
}

int qt_rows_open(struct qt_rows *r, struct ArrowArrayStream *stream, const char *formats, struct qt_error *err)
{
    struct ArrowSchema schema = {.release = NULL};
    int code;

    memset(r, 0, sizeof *r);
    if (stream == NULL || stream->release == NULL)
        return qt_fail(err, QT_EINVALID, "the Arrow stream was already released");
    r->stream = stream;
    r->n = (int32_t)strlen(formats);
    if (stream->get_schema(stream, &schema) != 0)
        return stream_failed(stream, err);
    code = check_schema(&schema, formats, err);
    if (schema.release != NULL)
        schema.release(&schema);
    return code;
}

int qt_rows_next(struct qt_rows *r, struct qt_error *err)
{
    do {
        qt_rows_close(r);
        if (r->stream->get_next(r->stream, &r->batch) != 0) {
            r->batch.release = NULL;
            return stream_failed(r->stream, err);
        }
    } while (r->batch.release != NULL && r->batch.length == 0);
    r->rows = r->batch.release == NULL ? 0 : r->batch.length;
    r->base = r->batch.offset;
    return QT_OK;
}

void qt_rows_close(struct qt_rows *r)
{
    if (r->batch.release != NULL)
        r->batch.release(&r->batch);
    r->batch.release = NULL;
    r->rows = 0;
}

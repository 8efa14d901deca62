/* SPDX-License-Identifier: Apache-2.0 */
/* The batch at hand is kept until the next one, or the end: what the readers point to lives as long. */
#include "base/arrow_read.h"

#include <string.h>

static int stream_failed(struct ArrowArrayStream *stream, struct qt_error *err)
{
    const char *text = stream->get_last_error(stream);
    return qt_fail(err, QT_EIO, "a stream failed: %s", text == NULL ? "it does not say why" : text);
}

static int check_schema(const struct ArrowSchema *schema, const char *formats, struct qt_error *err)
{
    if (strcmp(schema->format, "+s") != 0 || schema->n_children != (int64_t)strlen(formats))
        return qt_fail(err, QT_EFORMAT, "expected a stream of %zu columns (%s), found %lld", strlen(formats), formats,
                       (long long)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *c = schema->children[i];
        if (c->format[0] != formats[i] || c->format[1] != 0 || c->dictionary != NULL)
            return qt_fail(err, QT_EFORMAT, "column %lld (%s): expected Arrow format %c, found %s%s", (long long)i + 1,
                           c->name == NULL ? "" : c->name, formats[i], c->format,
                           strchr("UZ", formats[i]) != NULL ? "; DuckDB wants SET arrow_large_buffer_size=true" : "");
    }
    return QT_OK;
}

int qt_rows_open(struct qt_rows *r, struct ArrowArrayStream *stream, const char *formats, struct qt_error *err)
{
    struct ArrowSchema schema = {.release = NULL};
    int code;

    memset(r, 0, sizeof *r);
    if (stream == NULL || stream->release == NULL)
        return qt_fail(err, QT_EINVALID, "expected a stream, found one that was released");
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of the Arrow interface around a source's own:
 *
 *   stream.private_data: struct state { source, its last error, has it ended? } ── freed by release
 */
#include "base/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arrow_build.h"

struct state {
    struct qt_stream_source source;
    struct qt_error error;
    int ended;
};

/* A failing callback of the Arrow interface returns an errno. */
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
        qt_fail(&s->error, code, "out of memory for a schema");
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
        return qt_fail(err, QT_ENOMEM, "out of memory for a stream");
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
            return qt_fail(err, QT_EIO, "%s", text == NULL ? "a stream failed and did not say why" : text);
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

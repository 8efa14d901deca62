/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>

struct state {
    struct qt_stream_source source;
    struct qt_error error;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct state *state = stream->private_data;
    return qt_columns_schema(state->source.specs, state->source.n_specs, out) == 0 ? 0 : ENOMEM;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct state *state = stream->private_data;
    memset(out, 0, sizeof *out);
    int code = state->source.next(state->source.owner, out, &state->error);
    return code == QT_OK ? 0 : code == QT_ENOMEM ? ENOMEM : EIO;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct state *state = stream->private_data;
    return state->error.message;
}

static void release(struct ArrowArrayStream *stream)
{
    struct state *state = stream->private_data;
    if (state->source.done != NULL)
        state->source.done(state->source.owner);
    free(state);
    stream->release = NULL;
}

int qt_stream_make(const struct qt_stream_source *source, struct ArrowArrayStream *out, struct qt_error *error)
{
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory");
    state->source = *source;
    out->get_schema = get_schema;
    out->get_next = get_next;
    out->get_last_error = get_last_error;
    out->release = release;
    out->private_data = state;
    return QT_OK;
}

int qt_drain(struct ArrowArrayStream *stream, uint64_t *rows, struct qt_error *error)
{
    *rows = 0;
    for (;;) {
        struct ArrowArray batch;
        if (stream->get_next(stream, &batch) != 0) {
            qt_fail(error, QT_EIO, "%s", stream->get_last_error(stream));
            break;
        }
        if (batch.release == NULL) {
            qt_stream_release(stream);
            return QT_OK;
        }
        *rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    qt_stream_release(stream);
    return QT_EIO;
}

void qt_stream_release(struct ArrowArrayStream *stream)
{
    if (stream->release != NULL)
        stream->release(stream);
}

size_t qt_stream_size(void)
{
    return sizeof(struct ArrowArrayStream);
}

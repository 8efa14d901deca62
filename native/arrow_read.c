/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_read.h"

static int check(const struct ArrowSchema *schema, const struct qt_column_spec *specs, size_t n, struct qt_error *error)
{
    if (strcmp(schema->format, "+s") != 0 || schema->n_children != (int64_t)n)
        return qt_fail(error, QT_EINVALID, "expected a stream of %zu columns, found %lld", n, (long long)schema->n_children);
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (strcmp(child->name, specs[i].name) != 0 || strcmp(child->format, specs[i].format) != 0)
            return qt_fail(error, QT_EINVALID, "column %zu: expected %s with format %s, found %s with format %s", i,
                           specs[i].name, specs[i].format, child->name, child->format);
    }
    return QT_OK;
}

int qt_read_schema(struct ArrowArrayStream *stream, const struct qt_column_spec *specs, size_t n, struct qt_error *error)
{
    struct ArrowSchema schema;
    if (stream->get_schema(stream, &schema) != 0) {
        const char *why = stream->get_last_error(stream);
        return qt_fail(error, QT_EIO, "the stream gives no schema: %s", why != NULL ? why : "?");
    }
    int code = check(&schema, specs, n, error);
    schema.release(&schema);
    return code;
}

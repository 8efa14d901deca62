/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of columns: like a batch, each child owns what it points to, for readers may move children out. */
#include "base/arrow_schema.h"

#include <stdlib.h>

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

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of growing columns in another order: each column is gathered into memory of its own, which replaces the old. */
#include "base/arrow_permute.h"

static int permute_valid(struct qt_column *c, const uint32_t *order)
{
    if (c->valid == NULL)
        return QT_OK;
    uint8_t *valid = qt_buffer_new(c->pool, (size_t)c->rows);
    if (valid == NULL)
        return QT_ENOMEM;
    for (int64_t i = 0; i < c->rows; i++)
        valid[i] = c->valid[order[i]];
    qt_buffer_free(c->valid);
    c->valid = valid;
    return QT_OK;
}

/* Gathers texts. Short ones are copied 16 bytes at a time, into what the next one overwrites, as far as both ends
 * allow. */
static void gather(const struct qt_column *c, const uint32_t *order, char *data, int32_t *offsets)
{
    size_t from_safe = qt_buffer_size(c->data), to_safe = qt_buffer_size(data);
    size_t at = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        size_t from = (size_t)c->offsets[order[i]], len = (size_t)c->offsets[order[i] + 1] - from;
        offsets[i] = (int32_t)at;
        if (len <= 16 && from + 16 <= from_safe && at + 16 <= to_safe)
            memcpy(data + at, c->data + from, 16);
        else if (len > 0)
            memcpy(data + at, c->data + from, len);
        at += len;
    }
    offsets[c->rows] = (int32_t)at;
}

static int permute_bytes(struct qt_column *c, const uint32_t *order)
{
    char *data = qt_buffer_new(c->pool, (size_t)c->used);
    int32_t *offsets = qt_buffer_new(c->pool, (size_t)(c->rows + 1) * sizeof *offsets);
    if (data == NULL || offsets == NULL) {
        qt_buffer_free(data);
        qt_buffer_free(offsets);
        return QT_ENOMEM;
    }
    gather(c, order, data, offsets);
    qt_buffer_free(c->data);
    qt_buffer_free(c->offsets);
    c->data = data;
    c->offsets = offsets;
    return QT_OK;
}

static int permute_values(struct qt_column *c, const uint32_t *order)
{
    size_t width = c->type == 'l' ? 8 : c->type == 'i' ? 4 : 1;
    char *data = qt_buffer_new(c->pool, (size_t)c->rows * width);
    if (data == NULL)
        return QT_ENOMEM;
    if (width == 8)
        for (int64_t i = 0; i < c->rows; i++)
            ((int64_t *)(void *)data)[i] = ((int64_t *)(void *)c->data)[order[i]];
    else if (width == 4)
        for (int64_t i = 0; i < c->rows; i++)
            ((int32_t *)(void *)data)[i] = ((int32_t *)(void *)c->data)[order[i]];
    else
        for (int64_t i = 0; i < c->rows; i++)
            data[i] = c->data[order[i]];
    qt_buffer_free(c->data);
    c->data = data;
    return QT_OK;
}

int qt_columns_permute(struct qt_columns *cols, const uint32_t *order)
{
    for (int32_t i = 0; i < cols->n; i++) {
        struct qt_column *c = &cols->col[i];
        if (c->failed || c->rows == 0 || c->nulls == c->rows)
            continue; /* nothing in it to move; a failure is reported when the batch is finished */
        int code = permute_valid(c, order);
        if (code == QT_OK)
            code = c->type == 'u' || c->type == 'z' ? permute_bytes(c, order) : permute_values(c, order);
        if (code != QT_OK)
            return code;
    }
    return QT_OK;
}

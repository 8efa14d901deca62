/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts rows that are nearly in order. A log, for example, lists its events by end time, so most events are only a few
 * rows away from their position by start time. Each row is first moved back to its position, with few comparisons. If
 * too many moves are needed, a natural merge sort finishes the work. It merges neighbouring ascending runs in pairs
 * until one run is left. */
#include "base/sort_order.h"

#include <string.h>

enum { MOVES_A_ROW = 16 };

struct keys {
    const int64_t *const *key;
    int n;
};

static int follows(const struct keys *k, uint32_t a, uint32_t b) /* whether a must come after b */
{
    for (int i = 0; i < k->n; i++)
        if (k->key[i][a] != k->key[i][b])
            return k->key[i][a] > k->key[i][b];
    return 0;
}

static size_t find_run_end(const struct keys *k, const uint32_t *order, size_t begin, size_t n)
{
    size_t end = begin + 1;
    while (end < n && !follows(k, order[end - 1], order[end]))
        end++;
    return end < n ? end : n;
}

/* Merges [a, b) and [b, end) of `from` into [a, end) of `to`. */
static void merge(const struct keys *k, const uint32_t *from, uint32_t *to, size_t a, size_t b, size_t end)
{
    size_t i = a, j = b, at = a;
    while (i < b && j < end)
        to[at++] = follows(k, from[i], from[j]) ? from[j++] : from[i++];
    memcpy(to + at, from + i, (b - i) * sizeof *to);
    at += b - i;
    memcpy(to + at, from + j, (end - j) * sizeof *to);
}

/* Moves rows back one by one as long as that is cheap. Returns 1 if all rows are in order. */
static int insert_rows(const struct keys *k, uint32_t *order, size_t n)
{
    const int64_t *first = k->key[0];
    size_t moves = 0, most = n * MOVES_A_ROW;
    for (size_t i = 1; i < n; i++) {
        uint32_t row = order[i];
        int64_t key = first[row];
        size_t at = i;
        while (at > 0 &&
               (first[order[at - 1]] > key || (first[order[at - 1]] == key && follows(k, order[at - 1], row)))) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = row;
        moves += i - at;
        if (moves > most)
            return i + 1 == n;
    }
    return 1;
}

int qt_order_rows(const int64_t *const *keys, int n_keys, size_t n, uint32_t *order)
{
    struct keys k = {keys, n_keys};
    uint32_t *from = order, *to = order + n;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    if (n == 0 || find_run_end(&k, order, 0, n) == n)
        return 0;
    if (insert_rows(&k, order, n))
        return 1;
    for (;;) {
        size_t runs = 0;
        for (size_t a = 0; a < n; runs++) {
            size_t b = find_run_end(&k, from, a, n);
            size_t end = b < n ? find_run_end(&k, from, b, n) : n;
            merge(&k, from, to, a, b, end);
            a = end;
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
        if (runs == 1)
            break;
    }
    if (from != order)
        memcpy(order, from, n * sizeof *order);
    return 1;
}

/* Reorders the rows of growing columns. Each column is copied into new memory, which replaces the old memory. */
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

/* Copies the texts in the new order. Short texts are copied 16 bytes at a time if both buffers have room. The next text
 * overwrites the excess bytes. */
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
            continue; /* no values to move; qt_columns_finish reports failures */
        int code = permute_valid(c, order);
        if (code == QT_OK)
            code = c->type == 'u' || c->type == 'z' ? permute_bytes(c, order) : permute_values(c, order);
        if (code != QT_OK)
            return code;
    }
    return QT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Most columns repeat the row before: that is looked at first, then a hash table of at most MAX_VALUES values. */
#define XXH_INLINE_ALL
#include "parquet/dictionary.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MAX_VALUES = 1 << 14, SLOTS = 1 << 15, TRIED = 8192 };
#define MAX_BYTES ((size_t)1 << 20) /* of all different texts */

int qt_dictionary_new(struct qt_dictionary *d)
{
    memset(d, 0, sizeof *d);
    d->slots = malloc(SLOTS * sizeof *d->slots);
    d->texts = malloc(MAX_VALUES * sizeof *d->texts);
    if (d->slots != NULL && d->texts != NULL)
        return 0;
    qt_dictionary_free(d);
    return -1;
}

void qt_dictionary_free(struct qt_dictionary *d)
{
    free(d->slots);
    free(d->texts);
    free(d->indices);
    memset(d, 0, sizeof *d);
}

static int room_for(struct qt_dictionary *d, size_t rows)
{
    if (rows <= d->room)
        return 0;
    uint32_t *indices = realloc(d->indices, rows * sizeof *indices);
    if (indices == NULL)
        return -1;
    d->indices = indices;
    d->room = rows;
    return 0;
}

/* Is it a column whose values hardly repeat? Then a table of them is work for nothing. */
static int too_many(const struct qt_dictionary *d)
{
    return d->n == MAX_VALUES || d->bytes > MAX_BYTES || (d->values <= TRIED && d->n > TRIED / 4 * 3);
}

static inline int take_number(struct qt_dictionary *d, int64_t value)
{
    uint32_t at = (uint32_t)(((uint64_t)value * 0x9E3779B97F4A7C15u) >> 49);
    for (; d->slots[at] != 0; at = (at + 1) % SLOTS)
        if (d->numbers[d->slots[at] - 1] == value) {
            d->indices[d->values++] = d->slots[at] - 1;
            return 1;
        }
    if (too_many(d))
        return 0;
    d->numbers[d->n] = value;
    d->indices[d->values++] = d->n;
    d->slots[at] = ++d->n;
    return 1;
}

static int same(struct qt_span a, struct qt_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

static inline int take_text(struct qt_dictionary *d, struct qt_span text)
{
    uint32_t at = (uint32_t)XXH3_64bits(text.p, text.len) % SLOTS;
    for (; d->slots[at] != 0; at = (at + 1) % SLOTS)
        if (same(d->texts[d->slots[at] - 1], text)) {
            d->indices[d->values++] = d->slots[at] - 1;
            return 1;
        }
    if (too_many(d) || text.len > MAX_BYTES)
        return 0;
    d->texts[d->n] = text;
    d->bytes += text.len;
    d->indices[d->values++] = d->n;
    d->slots[at] = ++d->n;
    return 1;
}

static int take_numbers(struct qt_dictionary *d, const struct qt_parquet_column *c, size_t first, size_t rows)
{
    for (size_t row = first; row < first + rows; row++) {
        if (!qt_parquet_valid(c, row))
            continue;
        int64_t value = qt_parquet_number(c, row);
        uint32_t last = d->values > 0 ? d->indices[d->values - 1] : 0;
        if (d->values > 0 && d->numbers[last] == value)
            d->indices[d->values++] = last;
        else if (!take_number(d, value))
            return 0;
    }
    return 1;
}

static int take_texts(struct qt_dictionary *d, const struct qt_parquet_column *c, size_t first, size_t rows)
{
    for (size_t row = first; row < first + rows; row++) {
        if (!qt_parquet_valid(c, row))
            continue;
        struct qt_span text = qt_parquet_text(c, row);
        uint32_t last = d->values > 0 ? d->indices[d->values - 1] : 0;
        if (d->values > 0 && same(d->texts[last], text))
            d->indices[d->values++] = last;
        else if (!take_text(d, text))
            return 0;
    }
    return 1;
}

int qt_dictionary_take(struct qt_dictionary *d, const struct qt_parquet_column *c, size_t first, size_t rows)
{
    if (room_for(d, rows) != 0)
        return -1;
    memset(d->slots, 0, SLOTS * sizeof *d->slots);
    d->n = 0;
    d->values = d->bytes = 0;
    return c->offsets != NULL ? take_texts(d, c, first, rows) : take_numbers(d, c, first, rows);
}

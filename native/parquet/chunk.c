/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   rows -> few different values: a page of them, and a page of their numbers
 *        -> else: pages of the values themselves
 */
#include "parquet/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/levels.h"
#include "parquet/thrift.h"

enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { LEVEL = 1, SMALL = 128 }; /* of zstd; bytes of a chunk that packing would not make smaller */
#define PAGE_BYTES ((size_t)1 << 20)
#define MAX_RANGE_TEXT 64u /* bytes of a text that is named as the least or the most */
#define KEPT ((size_t)4 << 20)

int qt_page_writer_new(struct qt_page_writer *w)
{
    memset(w, 0, sizeof *w);
    w->zstd = ZSTD_createCCtx();
    if (w->zstd != NULL && qt_dictionary_new(&w->dictionary) == 0)
        return 0;
    qt_page_writer_free(w);
    return -1;
}

void qt_page_writer_free(struct qt_page_writer *w)
{
    qt_dictionary_free(&w->dictionary);
    ZSTD_freeCCtx(w->zstd);
    qt_bytes_free(&w->page);
    qt_bytes_free(&w->packed);
    qt_bytes_free(&w->head);
    w->zstd = NULL;
}

static int no_memory(struct qt_error *error) { return qt_fail(error, QT_ENOMEM, "out of memory for a page"); }

int qt_page_writer_put(struct qt_page_writer *w, const void *bytes, size_t n, struct qt_error *error)
{
    if (fwrite(bytes, 1, n, w->file) != n)
        return qt_fail(error, QT_EIO, "a part cannot be written: %s", strerror(errno));
    w->at += (int64_t)n;
    return QT_OK;
}

static int page_head(struct qt_page_writer *w, int type, size_t raw, size_t packed, size_t values, int encoding)
{
    w->head.len = 0;
    struct qt_thrift t = {.out = &w->head};
    qt_thrift_i32(&t, 1, type);
    qt_thrift_i32(&t, 2, (int32_t)raw);
    qt_thrift_i32(&t, 3, (int32_t)packed);
    qt_thrift_open(&t, type == DATA_PAGE ? 5 : 7);
    qt_thrift_i32(&t, 1, (int32_t)values);
    qt_thrift_i32(&t, 2, encoding);
    if (type == DATA_PAGE) {
        qt_thrift_i32(&t, 3, RLE);
        qt_thrift_i32(&t, 4, RLE);
    }
    qt_thrift_close(&t);
    qt_thrift_end(&t);
    return t.failed ? -1 : 0;
}

/* Writes what is in w->page. */
static int put_page(struct qt_page_writer *w, struct qt_chunk *out, int type, size_t values, int encoding,
                    struct qt_error *error)
{
    struct qt_bytes *page = &w->page;
    if (out->zstd) {
        size_t bound = ZSTD_compressBound(w->page.len);
        if (w->packed.room < bound) {
            qt_bytes_free(&w->packed);
            w->packed.p = malloc(bound);
            w->packed.room = w->packed.p != NULL ? bound : 0;
        }
        if (w->packed.p == NULL)
            return no_memory(error);
        size_t n = ZSTD_compressCCtx(w->zstd, w->packed.p, w->packed.room, w->page.p, w->page.len, LEVEL);
        if (ZSTD_isError(n))
            return qt_fail(error, QT_ENOMEM, "a page cannot be packed: %s", ZSTD_getErrorName(n));
        w->packed.len = n;
        page = &w->packed;
    }
    if (w->page.len > INT32_MAX || page->len > INT32_MAX)
        return qt_fail(error, QT_EINVALID, "a value of %zu bytes is too large for a part", w->page.len);
    if (page_head(w, type, w->page.len, page->len, values, encoding) != 0)
        return no_memory(error);
    out->raw_bytes += (int64_t)(w->head.len + w->page.len);
    out->bytes += (int64_t)(w->head.len + page->len);
    int code = qt_page_writer_put(w, w->head.p, w->head.len, error);
    return code != QT_OK ? code : qt_page_writer_put(w, page->p, page->len, error);
}

static int add_number(struct qt_bytes *page, char type, int64_t value)
{
    return qt_bytes_add_int(page, (uint64_t)value, type == 'l' ? 8 : 4);
}

static int add_text(struct qt_bytes *page, struct qt_span text)
{
    return qt_bytes_add_int(page, text.len, 4) != 0 || qt_bytes_add(page, text.p, text.len) != 0 ? -1 : 0;
}

static int before(struct qt_span a, struct qt_span b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.p, b.p, shorter) : 0;
    return order < 0 || (order == 0 && a.len < b.len);
}

static void widen_numbers(struct qt_chunk *out, int64_t value)
{
    out->low = !out->has_range || value < out->low ? value : out->low;
    out->high = !out->has_range || value > out->high ? value : out->high;
    out->has_range = 1;
}

static void find_text_range(struct qt_chunk *out, const struct qt_dictionary *d)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (i == 0 || before(d->texts[i], out->least))
            out->least = d->texts[i];
        if (i == 0 || before(out->most, d->texts[i]))
            out->most = d->texts[i];
    }
    out->has_range = d->n > 0 && out->least.len <= MAX_RANGE_TEXT && out->most.len <= MAX_RANGE_TEXT;
}

static int put_dictionary(struct qt_page_writer *w, const struct qt_parquet_column *c, struct qt_chunk *out,
                          struct qt_error *error)
{
    const struct qt_dictionary *d = &w->dictionary;
    w->page.len = 0;
    for (uint32_t i = 0; i < d->n; i++)
        if ((c->offsets != NULL ? add_text(&w->page, d->texts[i]) : add_number(&w->page, c->type, d->numbers[i])) != 0)
            return no_memory(error);
    if (c->offsets != NULL)
        find_text_range(out, d);
    for (uint32_t i = 0; c->offsets == NULL && i < d->n; i++)
        widen_numbers(out, d->numbers[i]);
    out->dictionary_at = w->at;
    return put_page(w, out, DICTIONARY_PAGE, d->n, PLAIN, error);
}

static int put_numbers_of_values(struct qt_page_writer *w, const struct qt_parquet_column *c, size_t first, size_t rows,
                                 struct qt_chunk *out, struct qt_error *error)
{
    struct qt_dictionary *d = &w->dictionary;
    int width = qt_bit_width(d->n - (d->n > 0));
    w->page.len = 0;
    if (qt_definition_levels_add(&w->page, c->valid, c->start + first, rows, d->values) != 0)
        return no_memory(error);
    if (d->values > 0 && (qt_bytes_add_int(&w->page, (uint64_t)width, 1) != 0 ||
                          qt_hybrid_add(&w->page, d->indices, d->values, width) != 0))
        return no_memory(error);
    out->data_at = w->at;
    return put_page(w, out, DATA_PAGE, rows, d->values > 0 ? RLE_DICTIONARY : PLAIN, error);
}

static size_t count_valid(const struct qt_parquet_column *c, size_t first, size_t rows)
{
    size_t n = 0;
    for (size_t row = first; c->valid != NULL && row < first + rows; row++)
        n += (size_t)qt_parquet_valid(c, row);
    return c->valid == NULL ? rows : n;
}

/* How many rows make a page: one at least. */
static size_t rows_of_page(const struct qt_parquet_column *c, size_t first, size_t rows)
{
    size_t most = PAGE_BYTES / 8;
    if (c->offsets == NULL)
        return rows < most ? rows : most;
    const int32_t *at = c->offsets + c->start + first;
    size_t n = 1;
    while (n < rows && n < most && (size_t)(at[n + 1] - at[0]) < PAGE_BYTES)
        n++;
    return n;
}

/* There is room for them. */
static void add_texts(struct qt_bytes *page, const struct qt_parquet_column *c, size_t first, size_t rows)
{
    for (size_t row = first; row < first + rows; row++) {
        if (!qt_parquet_valid(c, row))
            continue;
        struct qt_span text = qt_parquet_text(c, row);
        qt_put_le(page->p + page->len, text.len, 4);
        if (text.len > 0)
            memcpy(page->p + page->len + 4, text.p, text.len);
        page->len += 4 + text.len;
    }
}

static void add_numbers(struct qt_bytes *page, const struct qt_parquet_column *c, size_t first, size_t rows,
                        struct qt_chunk *out)
{
    int size = c->type == 'l' ? 8 : 4;
    for (size_t row = first; row < first + rows; row++) {
        if (!qt_parquet_valid(c, row))
            continue;
        int64_t value = qt_parquet_number(c, row);
        widen_numbers(out, value);
        qt_put_le(page->p + page->len, (uint64_t)value, size);
        page->len += (size_t)size;
    }
}

static void add_bits(struct qt_bytes *page, const struct qt_parquet_column *c, size_t first, size_t rows)
{
    uint8_t byte = 0;
    int held = 0;
    for (size_t row = first; row < first + rows; row++) {
        if (!qt_parquet_valid(c, row))
            continue;
        byte |= (uint8_t)(qt_parquet_number(c, row) << held);
        if (++held == 8) {
            page->p[page->len++] = (char)byte;
            held = byte = 0;
        }
    }
    if (held > 0)
        page->p[page->len++] = (char)byte;
}

static int put_values(struct qt_page_writer *w, const struct qt_parquet_column *c, size_t first, size_t rows,
                      struct qt_chunk *out, struct qt_error *error)
{
    int code = QT_OK;
    out->data_at = w->at;
    for (size_t end = first + rows; code == QT_OK && first < end;) {
        size_t n = rows_of_page(c, first, end - first);
        size_t bytes = 8 * n;
        if (c->offsets != NULL)
            bytes = 4 * n + (size_t)(c->offsets[c->start + first + n] - c->offsets[c->start + first]);
        w->page.len = 0;
        if (qt_definition_levels_add(&w->page, c->valid, c->start + first, n, count_valid(c, first, n)) != 0 ||
            qt_bytes_reserve(&w->page, bytes) != 0)
            return no_memory(error);
        if (c->offsets != NULL)
            add_texts(&w->page, c, first, n);
        else if (c->type == 'b')
            add_bits(&w->page, c, first, n);
        else
            add_numbers(&w->page, c, first, n, out);
        code = put_page(w, out, DATA_PAGE, n, PLAIN, error);
        first += n;
    }
    return code;
}

int qt_chunk_write(struct qt_page_writer *w, const struct qt_parquet_column *c, size_t first, size_t rows,
                   struct qt_chunk *out, struct qt_error *error)
{
    memset(out, 0, sizeof *out);
    out->dictionary_at = -1;
    out->rows = (int64_t)rows;
    out->nulls = (int64_t)(rows - count_valid(c, first, rows));
    out->zstd = 1;
    int taken = c->type == 'b' ? 0 : qt_dictionary_take(&w->dictionary, c, first, rows);
    if (taken < 0)
        return no_memory(error);
    int code;
    if (taken) {
        const struct qt_dictionary *d = &w->dictionary;
        out->zstd = d->n > 1 || d->bytes > SMALL || (out->nulls > 0 && d->n > 0);
        code = d->n > 0 ? put_dictionary(w, c, out, error) : QT_OK;
        code = code != QT_OK ? code : put_numbers_of_values(w, c, first, rows, out, error);
    } else {
        code = put_values(w, c, first, rows, out, error);
    }
    qt_bytes_clear(&w->page, KEPT);
    qt_bytes_clear(&w->packed, KEPT);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE */
#include "parquet/levels.h"

#include "parquet/thrift.h"

enum { GROUP = 8, MIN_RUN = 16 }; /* a run costs two or three bytes: shorter ones stay among the packed values */

int qt_bit_width(uint32_t largest)
{
    int width = 1;
    while (width < 32 && largest >> width != 0)
        width++;
    return width;
}

static int add_run(struct qt_bytes *out, uint32_t value, size_t n, int width)
{
    return qt_put_varint(out, (uint64_t)n << 1) != 0 || qt_bytes_add_int(out, value, (width + 7) / 8) != 0 ? -1 : 0;
}

/* `n` is a multiple of 8, but for the last ones of all: zeros follow them. */
static int add_packed(struct qt_bytes *out, const uint32_t *values, size_t n, int width)
{
    size_t groups = (n + GROUP - 1) / GROUP;
    if (n == 0)
        return 0;
    if (qt_put_varint(out, (uint64_t)groups << 1 | 1) != 0)
        return -1;
    for (size_t at = 0; at < n; at += GROUP) {
        uint8_t packed[4 * GROUP];
        uint64_t bits = 0;
        int held = 0, made = 0;
        for (size_t i = at; i < at + GROUP; i++) {
            bits |= (uint64_t)(i < n ? values[i] : 0) << held;
            for (held += width; held >= 8; held -= 8, bits >>= 8)
                packed[made++] = (uint8_t)bits;
        }
        if (qt_bytes_add(out, packed, (size_t)made) != 0)
            return -1;
    }
    return 0;
}

int qt_hybrid_add(struct qt_bytes *out, const uint32_t *values, size_t n, int width)
{
    size_t packed = 0, i = 0; /* values before `packed` are written; from there to `i` they will be packed */
    while (i < n) {
        size_t end = i + 1;
        while (end < n && values[end] == values[i])
            end++;
        if (end - i < MIN_RUN) {
            i += GROUP;
            continue;
        }
        if (add_packed(out, values + packed, i - packed, width) != 0 || add_run(out, values[i], end - i, width) != 0)
            return -1;
        packed = i = end;
    }
    return add_packed(out, values + packed, n - packed, width);
}

/* The bits of a bitmap have the order of packed levels already. */
static int add_bits(struct qt_bytes *out, const uint8_t *valid, size_t first, size_t rows)
{
    size_t groups = (rows + GROUP - 1) / GROUP;
    if (qt_put_varint(out, (uint64_t)groups << 1 | 1) != 0)
        return -1;
    if (first % 8 == 0)
        return qt_bytes_add(out, valid + first / 8, groups);
    for (size_t at = 0; at < rows; at += GROUP) {
        uint8_t byte = 0;
        for (size_t i = at; i < at + GROUP && i < rows; i++)
            byte |= (uint8_t)((valid[(first + i) / 8] >> (first + i) % 8 & 1) << (i - at));
        if (qt_bytes_add(out, &byte, 1) != 0)
            return -1;
    }
    return 0;
}

int qt_definition_levels_add(struct qt_bytes *out, const uint8_t *valid, size_t first, size_t rows, size_t values)
{
    size_t length_at = out->len;
    if (qt_bytes_add_int(out, 0, 4) != 0)
        return -1;
    int alike = valid == NULL || values == rows || values == 0;
    if ((alike ? add_run(out, values != 0, rows, 1) : add_bits(out, valid, first, rows)) != 0)
        return -1;
    qt_put_le(out->p + length_at, out->len - length_at - 4, 4);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Small numbers as Parquet's mixture of runs and packed bits ("RLE/bit-packing hybrid"). 0, or -1 when out of memory.
 */
#ifndef QT_LEVELS_H
#define QT_LEVELS_H

#include "base/bytes.h"

/* Bits that a number up to `largest` takes; 1 at least. */
int qt_bit_width(uint32_t largest);
int qt_hybrid_add(struct qt_bytes *, const uint32_t *values, size_t n, int width);
/* Definition levels of a column that may be NULL, with their length in front. `valid`: a bit a row, from bit `first`;
 * NULL = every row has a value. `values`: how many of the rows have one. */
int qt_definition_levels_add(struct qt_bytes *, const uint8_t *valid, size_t first, size_t rows, size_t values);

#endif

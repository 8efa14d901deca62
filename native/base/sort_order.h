/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts rows by several keys. Fast for rows that are nearly in order. */
#ifndef QT_SORT_ORDER_H
#define QT_SORT_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arrow_build.h"

/* Fills order[0..n) with row numbers, sorted by the keys' values, first key first. The sort is stable. `order` must
 * have room for 2 * n numbers, because the second half is scratch space. Returns 0 if the rows were already in order,
 * else 1. */
int qt_order_rows(const int64_t *const *keys, int n_keys, size_t n, uint32_t *order);

/* Reorders the rows of growing columns. */
/* Moves row order[i] to position i. `order` contains each row once. Returns QT_ENOMEM when out of memory: the columns
 * after the failed column are then unchanged. */
int qt_columns_permute(struct qt_columns *, const uint32_t *order);

#endif

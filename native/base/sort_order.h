/* SPDX-License-Identifier: Apache-2.0 */
/* The order of rows by several keys: made for rows that are nearly in order already. */
#ifndef QT_SORT_ORDER_H
#define QT_SORT_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arrow_build.h"

/* Fills order[0..n) with row numbers sorted by the keys' values, first key first; rows of equal keys keep their places.
 * `order` has room for 2 * n (the second half is scratch). Returns 0 where the rows were in order already. */
int qt_order_rows(const int64_t *const *keys, int n_keys, size_t n, uint32_t *order);

/* Another order of the rows of growing columns. */
/* Puts row order[i] in place i; `order` names each row once. QT_ENOMEM; then nothing has moved in the columns after the
 * one that failed. */
int qt_columns_permute(struct qt_columns *, const uint32_t *order);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Another order of the rows of growing columns. */
#ifndef QT_ARROW_PERMUTE_H
#define QT_ARROW_PERMUTE_H

#include "base/arrow_build.h"

/* Puts row order[i] in place i; `order` names each row once. QT_ENOMEM; then nothing has moved in the columns after the
 * one that failed. */
int qt_columns_permute(struct qt_columns *, const uint32_t *order);

#endif

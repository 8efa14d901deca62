/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a part of a tape: the rows of a stream as one Parquet file, and what tape.json says of them. The functions are
 * in querytape.h. */
#ifndef QT_PART_H
#define QT_PART_H

#include "querytape.h"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of byte classes; scan.h looks at several bytes at a time. */
#include "sql/chars.h"

#define ROW4(v) v, v, v, v
#define ROW16(v) ROW4(v), ROW4(v), ROW4(v), ROW4(v)
#define ROW64(v) ROW16(v), ROW16(v), ROW16(v), ROW16(v)

/* Made of QT_C_*: identifiers are letters, digits, _ $ and every byte above 127. */
const uint8_t qt_char_class[256] = {
    ROW16(4), ROW16(4), 4, 0, 0,       0,        1,        0, 0, 0, 0, 0, 0, 0, 0,       0,       0, 0, /* $ */
    ROW4(3),  ROW4(3),  3, 3, 0,       0,        0,        0, 0, 0, 0, 1, 1, 1, ROW4(1), ROW4(1), 1, 1,
    1,        1,        1, 1, 1,       1,        ROW4(1),  1, 1, 1, 0, 0, 0, 0, 1, /* _ */
    0,        1,        1, 1, ROW4(1), ROW4(1),  1,        1, 1, 1, 1, 1, 1, 1, ROW4(1), 1,       1, 1,
    0,        0,        0, 0, 4,       ROW64(1), ROW64(1),
};

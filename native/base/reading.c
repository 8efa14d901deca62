/* SPDX-License-Identifier: Apache-2.0 */
/* The length of a value follows from its type or from its first bytes. */
#include "base/reading.h"

void qt_skip_value(struct qt_reading *r, unsigned type)
{
    switch (type & 0xFF) {
    case 0x06: /* NULL */
        break;
    case 0x01: /* TINY */
        qt_take(r, 1);
        break;
    case 0x02: /* SHORT, YEAR */
    case 0x0d:
        qt_take(r, 2);
        break;
    case 0x03: /* LONG, FLOAT, INT24 */
    case 0x04:
    case 0x09:
        qt_take(r, 4);
        break;
    case 0x05: /* DOUBLE, LONGLONG */
    case 0x08:
        qt_take(r, 8);
        break;
    case 0x07: /* TIMESTAMP, DATE, TIME, DATETIME: a length byte, then the value */
    case 0x0a:
    case 0x0b:
    case 0x0c:
        qt_take(r, qt_take_int(r, 1));
        break;
    default: /* DECIMAL, VARCHAR, BIT, JSON, ENUM, SET, BLOBs, STRINGs, GEOMETRY */
        qt_take_string(r);
        break;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The X protocol (port 33060): is recognised, and not read. Its frames look like MySQL's packets: 4 bytes of length,
 * little-endian, then a byte that says what it is ("X Protocol", Mysqlx.ClientMessages and ServerMessages). */
#ifndef QT_X_PROTOCOL_H
#define QT_X_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { QT_X_PORT = 33060 };

/* The server's first frame since 8.0.14: a notice, 5 = hello. */
static inline int qt_x_is_hello(const uint8_t *p, size_t n)
{
    return n >= 9 && memcmp(p, "\5\0\0\0\13\10\5\32\0", 9) == 0;
}

/* May a connection begin so? `type`: the byte behind the length; sequence 0 is the length's upper byte. A server of the
 * MySQL protocol begins with a greeting (10) or an error (255), its client with sequence 1. */
static inline int qt_x_may_begin(int is_client, uint8_t seq, uint8_t type)
{
    if (seq != 0)
        return 0;
    return is_client ? type >= 1 && type <= 4 : type <= 4 || type == 11;
}

#endif

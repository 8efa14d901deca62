/* SPDX-License-Identifier: Apache-2.0 */
/* Where a connection is lost: what of its bytes can only be a command. */
#ifndef QT_PROTOCOL_RESYNC_H
#define QT_PROTOCOL_RESYNC_H

#include <stddef.h>
#include <stdint.h>

/* Can these bytes, the first of a segment, be a command and nothing else? */
int qt_begins_command(const uint8_t *p, size_t n);
/* 1 = a zlib frame, 2 = a zstd one, 0 = neither, 3 = one that is stored as it is. */
int qt_begins_frame(const uint8_t *p, size_t n);

#endif

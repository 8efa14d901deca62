/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes commands in the bytes of a connection that lost synchronization. */
#ifndef QT_PROTOCOL_RESYNC_H
#define QT_PROTOCOL_RESYNC_H

#include <stddef.h>
#include <stdint.h>

/* Returns whether the first bytes of a segment can only be a command. */
int qt_begins_command(const uint8_t *p, size_t n);
/* Returns the kind of compressed frame: 1 = zlib, 2 = zstd, 3 = stored uncompressed, 0 = not a frame. */
int qt_begins_frame(const uint8_t *p, size_t n);

#endif

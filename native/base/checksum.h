/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum of result rows. A packet capture and a replay compute the same checksum.
 *
 *     struct qt_checksum c = {0};
 *     qt_checksum_result(&c, columns);           once for each result set
 *     qt_checksum_row(&c, payload, n);           the packet payload of one row: text protocol: length-encoded strings,
 *                                                0xFB for NULL; binary protocol: header, NULL bitmap, values
 *     qt_checksum_text(&c, "text", out);         "text:A:B"; an empty text if there was no result set
 *
 * A row's hash is XXH3-64 of its payload. A payload of 16 MiB - 1 or more bytes spans several packets. The hashes of
 * these packets are mixed in order. Part A mixes the row hashes and the result sets in order. Part B is the sum of the
 * row hashes, each mixed with the number of its result set. B is therefore the same for the same rows in any order.
 * Only checksums of the same protocol (text or binary) are comparable. */
#ifndef QT_CHECKSUM_H
#define QT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define QT_CHECKSUM_ROOM 48

struct qt_checksum {
    uint64_t ordered, set, results, rows;
    uint64_t split; /* mixed hash of the received packets of an unfinished row */
    int in_split;
};

void qt_checksum_result(struct qt_checksum *, uint64_t columns);
void qt_checksum_row(struct qt_checksum *, const void *payload, size_t n);
/* Adds one packet of a row. `more` is non-zero if the row continues in the next packet. */
void qt_checksum_part(struct qt_checksum *, const void *payload, size_t n, int more);
void qt_checksum_text(const struct qt_checksum *, const char *protocol, char out[QT_CHECKSUM_ROOM]);

#endif

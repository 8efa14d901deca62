/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum of result rows, which a capture of packets and a replay both can make.
 *
 *     struct qt_checksum c = {0};
 *     qt_checksum_result(&c, columns);           each result set begins so
 *     qt_checksum_row(&c, payload, n);           the row as its packet's payload: in text a length-encoded string a
 *                                                value and 0xFB for NULL; in binary header, NULL bitmap and values
 *     qt_checksum_text(&c, "text", out);         "text:A:B"; nothing where there was no result set
 *
 * A row's hash is XXH3-64 of its payload; a payload of 16 MiB - 1 or more comes in packets, whose hashes are mixed in
 * their order. A mixes rows and results in their order; B is the sum of the rows' hashes, each mixed with the number
 * of its result: equal for the same rows in any order. Comparable only within one protocol.
 */
#ifndef QT_CHECKSUM_H
#define QT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define QT_CHECKSUM_ROOM 48

struct qt_checksum {
    uint64_t ordered, set, results, rows;
    uint64_t split; /* mixed hash of the packets of a row that goes on */
    int in_split;
};

void qt_checksum_result(struct qt_checksum *, uint64_t columns);
void qt_checksum_row(struct qt_checksum *, const void *payload, size_t n);
/* A packet of a row: `more` where the row goes on in the next packet. */
void qt_checksum_part(struct qt_checksum *, const void *payload, size_t n, int more);
void qt_checksum_text(const struct qt_checksum *, const char *protocol, char out[QT_CHECKSUM_ROOM]);

#endif

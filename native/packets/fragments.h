/* SPDX-License-Identifier: Apache-2.0 */
/* Reassembles IP packets from their fragments. Fragments may arrive in any order, twice, or overlapping. The first copy
 * of each byte counts. Fragments of a complete packet are skipped.
 *
 * Memory is bounded: a packet is given up after 30 s, or earlier when a new packet needs its place. */
#ifndef QT_FRAGMENTS_H
#define QT_FRAGMENTS_H

#include "packets/frame.h"

struct qt_fragments;

struct qt_datagram { /* valid until the next call */
    struct qt_endpoint from, to;
    uint8_t protocol;
    const uint8_t *p;
    size_t len; /* for an incomplete packet: length of the contiguous bytes at its start */
    int64_t packet;
};

/* Returns NULL when out of memory. */
struct qt_fragments *qt_fragments_new(void);
void qt_fragments_free(struct qt_fragments *);
/* Copies the fragment of a frame. The fragment may lie inside the packet that was returned last. Returns 1 if `out` is
 * a complete packet, 0 if fragments are missing, -1 when out of memory. */
int qt_fragments_take(struct qt_fragments *, const struct qt_frame *, int64_t when_ns, int64_t packet,
                      struct qt_datagram *out);
/* Must be called before the fragments of each frame. Returns 1 if `out` is a packet that is given up, because it is too
 * old or no place is free. Returns 0 if no packet is given up. `now_ns` is INT64_MAX at the end of the capture. */
int qt_fragments_lost(struct qt_fragments *, int64_t now_ns, struct qt_datagram *out);

#endif

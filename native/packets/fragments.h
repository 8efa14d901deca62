/* SPDX-License-Identifier: Apache-2.0 */
/* Puts IP packets together again from their fragments: in any order, twice, overlapping (the first copy counts). What
 * still comes of a whole one is skipped. Bounded: the oldest packet is given up for a new one, and after 30 s.
 */
#ifndef QT_FRAGMENTS_H
#define QT_FRAGMENTS_H

#include "packets/frame.h"

struct qt_fragments;

struct qt_datagram { /* until the next call */
    struct qt_endpoint from, to;
    uint8_t protocol;
    const uint8_t *p;
    size_t len; /* of one given up: the bytes from its begin on that came in one piece */
    int64_t packet;
};

/* NULL when out of memory. */
struct qt_fragments *qt_fragments_new(void);
void qt_fragments_free(struct qt_fragments *);
/* Takes a frame's fragment as a copy, also one that is inside of the packet told last. 1 = `out` is the whole packet;
 * 0; -1 = out of memory. */
int qt_fragments_take(struct qt_fragments *, const struct qt_frame *, int64_t when_ns, int64_t packet,
                      struct qt_datagram *out);
/* Before the fragments of a frame: 1 = `out` is a packet that is given up, by the time or for want of places; 0 = none.
 * INT64_MAX: the end. */
int qt_fragments_lost(struct qt_fragments *, int64_t now_ns, struct qt_datagram *out);

#endif

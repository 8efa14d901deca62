/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and their byte streams, put together again from segments.
 *
 * In-order payload goes to the decoder straight from the capture's buffer. What comes early is held (a copy, bounded for
 * each connection and in all) until the hole before it is filled, or until it is known that it never will be: then the
 * decoder is told of a gap. What comes twice (retransmitted, captured twice on `any` or `lo`) is dropped; of overlapping
 * bytes the first copy counts.
 */
#ifndef QT_TCP_H
#define QT_TCP_H

#include "frame.h"
#include "querytape.h"
#include "wire.h"

struct qt_tcp_counts {
    uint64_t connections, midway, open_now, evicted;
    uint64_t duplicates, early, gaps, lost_bytes, cut; /* segments; the last: shortened by the snapshot length */
};

struct qt_tcp_options {
    const uint16_t *ports;   /* of servers; copied */
    int n_ports;
    size_t most_connections; /* the longest idle one is given up beyond it */
    size_t most_held;        /* bytes of early segments, all connections together */
    size_t largest_kept;     /* handed to the decoders */
};

struct qt_tcp;

/* The sink's functions get a `struct qt_tcp_owner *` as their connection: the caller may keep its own in it. */
struct qt_tcp_owner {
    int64_t session, seq; /* 0 when the connection is new */
    void *mine;
};

struct qt_tcp *qt_tcp_new(const struct qt_tcp_options *, const struct qt_wire_sink *); /* NULL when out of memory */
int qt_tcp_segment(struct qt_tcp *, const struct qt_segment *, int64_t when_ns, int64_t packet);
/* The end of the capture: held segments are given up, decoders told. */
int qt_tcp_end(struct qt_tcp *, int64_t when_ns);
void qt_tcp_counts(const struct qt_tcp *, struct qt_tcp_counts *out);
void qt_tcp_free(struct qt_tcp *);

#endif

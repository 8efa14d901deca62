/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the connections, between tcp.c (which connection) and tcp_reassembly.c (bytes in order), and of what the
 * users of tcp.h hand in and get back. */
#ifndef QT_TCP_STATE_H
#define QT_TCP_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "packets/frame.h"
#include "packets/insert_ids.h"
#include "protocol/decoder.h"
#include "querytape.h"

struct qt_tcp_counts {
    uint64_t connections, midway, open_now, evicted;
    uint64_t duplicates, early, gaps, lost_bytes, cut; /* segments; the last: shortened by the snapshot length */
};

struct qt_tcp_options {
    const uint16_t *ports; /* of servers; copied */
    int n_ports;
    size_t max_connections;           /* the longest idle one is given up beyond it */
    size_t max_held;                  /* bytes of early segments, all connections together */
    size_t largest_kept;              /* handed to the decoders */
    struct qt_tls_log *keys;          /* handed to the decoders; NULL = TLS is not read */
    struct qt_parameter_types *types; /* the same; may be NULL */
};

/* The sink's functions get a `struct qt_tcp_owner *` as their connection: the caller may keep its own in it. */
struct qt_tcp_owner {
    int64_t session, seq; /* 0 when the connection is new */
    void *mine;
    int tls_counted;
    const struct qt_open_session *open; /* what its server says of it; NULL = nothing */
    int open_told;
    struct qt_session_mode mode;
    struct qt_named_statements named;
};

struct qt_early_segment {
    struct qt_early_segment *next; /* in order of seq */
    uint32_t seq, ack;
    int acks; /* `ack` holds */
    size_t len, sent_len;
    int64_t when_ns, packet;
    char bytes[];
};

struct qt_tcp_way {
    int known;     /* `next` is */
    uint32_t next; /* sequence number of the byte that is due */
    int has_fin;
    uint32_t fin; /* its sequence number */
    int acked;    /* the other side has acknowledged up to `acked_to` */
    uint32_t acked_to;
    struct qt_early_segment *held; /* early, or sent after what is not there yet of the other way */
    size_t held_bytes;
    int waited; /* segments seen since something is held */
    int64_t waiting_since_ns;
};

struct qt_tcp_connection {
    struct qt_tcp_connection *same_hash;
    struct qt_tcp_connection *older, *newer; /* by last use */
    uint64_t hash;
    struct qt_endpoint client, server;
    struct qt_tcp_way way[2];
    struct qt_decoder *decoder; /* owned; NULL: ended */
    struct qt_tcp_owner owner;
};

struct qt_tcp_parked { /* a connection that has ended and waits for the secrets of its TLS */
    struct qt_tcp_parked *next;
    struct qt_decoder *decoder;
    int64_t since_ns; /* of the clock; 0 = not looked at yet */
    struct qt_tcp_owner owner;
};

struct qt_tcp {
    struct qt_tcp_options options;
    uint16_t *ports;
    struct qt_decoder_sink sink;
    struct qt_tcp_connection **table;
    size_t buckets, n;
    struct qt_tcp_connection *oldest, *newest;
    size_t held_bytes;
    struct qt_tcp_parked *parked, **parked_last; /* the oldest first; where the next one is put */
    size_t n_parked;
    struct qt_tcp_counts counts;
};

#endif

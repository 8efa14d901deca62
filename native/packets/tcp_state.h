/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the connections, between tcp.c (which connection) and tcp_order.c (bytes in order). */
#ifndef QT_TCP_STATE_H
#define QT_TCP_STATE_H

#include "packets/frame.h"
#include "packets/tcp_types.h"
#include "protocol/decoder.h"

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

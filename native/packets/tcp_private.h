/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QT_TCP_PRIVATE_H
#define QT_TCP_PRIVATE_H

#include "tcp.h"

struct qt_held { /* an early segment */
    struct qt_held *next; /* in order of seq */
    uint32_t seq;
    size_t len, wire_len;
    int64_t when_ns, packet;
    char bytes[];
};

struct qt_tcp_way {
    int known;          /* `next` is */
    uint32_t next;      /* sequence number of the byte that is due */
    int has_fin;
    uint32_t fin;       /* its sequence number */
    int acked;          /* the other side has acknowledged up to `acked_to` */
    uint32_t acked_to;
    struct qt_held *held;
    size_t held_bytes;
    int waited;         /* segments seen since something is held */
    int64_t waiting_since_ns;
};

struct qt_tcp_connection {
    struct qt_tcp_connection *same_hash;
    struct qt_tcp_connection *older, *newer; /* by last use */
    uint64_t hash;
    struct qt_endpoint client, server;
    struct qt_tcp_way way[2];
    struct qt_wire *wire;   /* NULL: ended */
    struct qt_tcp_owner owner;
};

struct qt_tcp {
    struct qt_tcp_options options;
    uint16_t *ports;
    struct qt_wire_sink sink;
    struct qt_tcp_connection **table;
    size_t buckets, n;
    struct qt_tcp_connection *oldest, *newest;
    size_t held_bytes;
    struct qt_tcp_counts counts;
};

/* tcp_order.c: puts one way's segments in order and hands them on. */
int qt_tcp_bytes(struct qt_tcp *, struct qt_tcp_connection *, enum qt_way, const struct qt_segment *, int64_t when_ns,
                 int64_t packet);
/* Gives the holes of a way up and hands on what is held behind them. */
int qt_tcp_flush(struct qt_tcp *, struct qt_tcp_connection *, enum qt_way);
void qt_tcp_drop_held(struct qt_tcp *, struct qt_tcp_connection *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Types shared by tcp.c (connections), tcp_reassembly.c (bytes in order) and the users of tcp.h. */
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
    uint64_t duplicates, early, gaps, lost_bytes, cut; /* segments (`lost_bytes`: bytes); `cut`: truncated in capture */
};

struct qt_tcp_options {
    const uint16_t *ports; /* server ports; copied */
    int n_ports;
    size_t max_connections;           /* beyond this number, the longest idle connection is given up */
    size_t max_held;                  /* bytes of early segments in all connections */
    size_t largest_kept;              /* limit of the bytes that are kept per command; passed to the decoders */
    struct qt_tls_log *keys;          /* passed to the decoders; NULL = no TLS decryption */
    struct qt_parameter_types *types; /* passed to the decoders; may be NULL */
};

/* The sink's functions receive a `struct qt_tcp_owner *` as their connection. The caller may store its own state in
 * this struct. */
struct qt_tcp_owner {
    int64_t session, seq; /* 0 for a new connection */
    void *mine;
    int tls_counted;
    const struct qt_open_session *open; /* session state reported by the server; NULL = none */
    int open_told;
    struct qt_session_mode mode;
    struct qt_named_statements named;
};

struct qt_early_segment {
    struct qt_early_segment *next; /* next segment in order of `seq` */
    uint32_t seq, ack;
    int acks; /* `ack` is valid */
    size_t len, sent_len;
    int64_t when_ns, packet;
    char bytes[];
};

struct qt_tcp_way {
    int known;     /* `next` is valid */
    uint32_t next; /* sequence number of the next expected byte */
    int has_fin;
    uint32_t fin; /* sequence number of the FIN */
    int acked;    /* the other side has acknowledged all bytes up to `acked_to` */
    uint32_t acked_to;
    struct qt_early_segment *held; /* early segments, and segments that wait for missing bytes of the other direction */
    size_t held_bytes;
    int waited; /* segments seen while `held` is not empty */
    int64_t waiting_since_ns;
};

struct qt_tcp_connection {
    struct qt_tcp_connection *same_hash;
    struct qt_tcp_connection *older, *newer; /* neighbours in order of last use */
    uint64_t hash;
    struct qt_endpoint client, server;
    struct qt_tcp_way way[2];
    struct qt_decoder *decoder; /* owned; NULL = the connection has ended */
    struct qt_tcp_owner owner;
};

struct qt_tcp_parked { /* an ended connection that waits for its TLS secrets */
    struct qt_tcp_parked *next;
    struct qt_decoder *decoder;
    int64_t since_ns; /* start of the wait, wall clock; 0 = not checked yet */
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
    struct qt_tcp_parked *parked, **parked_last; /* queue, oldest first; address at which the next entry is linked */
    size_t n_parked;
    struct qt_tcp_counts counts;
};

#endif

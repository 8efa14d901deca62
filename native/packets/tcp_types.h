/* SPDX-License-Identifier: Apache-2.0 */
/* Types of what the users of tcp.h hand in and get back. */
#ifndef QT_TCP_TYPES_H
#define QT_TCP_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "packets/named_statements.h"
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

#endif

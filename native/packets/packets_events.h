/* SPDX-License-Identifier: Apache-2.0 */
/* The packet reader. It connects packets.c (reads files or an interface) with packets_events.c (builds rows of the
 * tape). */
#ifndef QT_PACKETS_EVENTS_H
#define QT_PACKETS_EVENTS_H

#include "base/bytes.h"
#include "packets/capture_file.h"
#include "packets/fragments.h"
#include "packets/live.h"
#include "packets/other_ports.h"
#include "packets/tcp.h"
#include "protocol/parameter_types.h"
#include "reader/input.h"
#include "reader/reader.h"

enum { QT_MAX_PORTS = 64, QT_FRAME_KINDS = 7 };

struct qt_packets {
    struct qt_reader reader; /* must be the first member */
    struct qt_inputs inputs;
    int32_t file;
    struct qt_capture_file *open;
    struct qt_live *live;  /* NULL = reading from files */
    uint64_t bytes_before; /* stored bytes of the finished files */
    uint64_t bytes;        /* captured bytes of all packets so far */
    int64_t packet;        /* packet number in its file, from 1 */
    int ended, told_end;
    struct qt_tcp *tcp;
    struct qt_normalizer *normalizer;
    struct qt_bytes insert_ids; /* buffer for the current event */
    int64_t next_session;
    struct qt_tls_log *keys;
    struct qt_parameter_types *types;
    uint64_t known_midway;                    /* connections joined in mid-stream whose state the server reported */
    uint64_t decrypted, broken_off;           /* TLS connections: decrypted; decrypted only in part */
    uint64_t unread[QT_TLS_RENEGOTIATED + 1]; /* TLS connections that were not decrypted, by enum qt_tls_end */
    uint64_t misfits;                         /* executions that do not match their prepared statement */
    uint64_t lost;                            /* live capture: number of dropped packets at the time `looked_ns` */
    int64_t looked_ns, keys_looked_ns;
    uint64_t renegotiated; /* TLS connections that were decrypted until their keys changed */
    uint64_t frames[QT_FRAME_KINDS];
    uint64_t tunnels[QT_TUNNELS];
    struct qt_fragments *fragments;
    uint64_t incomplete; /* IP packets with missing fragments */
    struct qt_other_ports others;
    uint64_t silent, x_protocol;  /* connections with bytes but no event; X Protocol connections */
    char first_silent[192];       /* problem text of the first connection without events */
    char ports[QT_MAX_PORTS * 6]; /* the ports as text */
};

/* Returns the sink of the decoders. The sink adds rows to the reader's batch and must run in the parsing thread. */
struct qt_decoder_sink qt_packets_sink(struct qt_packets *);

#endif

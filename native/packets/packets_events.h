/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of packets, between packets.c (files or an interface) and packets_events.c (rows of the tape). */
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
    struct qt_reader reader; /* first */
    struct qt_inputs inputs;
    int32_t file;
    struct qt_capture_file *open;
    struct qt_live *live;  /* NULL: files */
    uint64_t bytes_before; /* of the files done */
    uint64_t bytes;        /* of packets taken */
    int64_t packet;        /* number in its file, from 1 */
    int ended, told_end;
    struct qt_tcp *tcp;
    struct qt_normalizer *normalizer;
    struct qt_bytes insert_ids; /* of the event that is told */
    int64_t next_session;
    struct qt_tls_log *keys;
    struct qt_parameter_types *types;
    uint64_t known_midway;          /* connections joined in mid-stream of which the server told what they are */
    uint64_t decrypted, broken_off; /* TLS connections that were read; of those, not to their end */
    uint64_t unread[QT_TLS_RENEGOTIATED + 1]; /* and those that were not, by enum qt_tls_end */
    uint64_t misfits;                         /* executions that do not fit their statement */
    uint64_t lost;                            /* live: packets dropped, as last seen at looked_ns */
    int64_t looked_ns, keys_looked_ns;
    uint64_t renegotiated; /* TLS connections that were read up to keys that are not in the log */
    uint64_t frames[QT_FRAME_KINDS];
    uint64_t tunnels[QT_TUNNELS];
    struct qt_fragments *fragments;
    uint64_t incomplete; /* IP packets whose fragments did not all come */
    struct qt_other_ports others;
    uint64_t silent, x_protocol;  /* connections with bytes but no event; of the X protocol */
    char first_silent[192];       /* what the problem of the first one says */
    char ports[QT_MAX_PORTS * 6]; /* as text */
};

/* The decoders' sink. It adds to the reader's batch, so it runs in the parsing thread. */
struct qt_decoder_sink qt_packets_sink(struct qt_packets *);

#endif

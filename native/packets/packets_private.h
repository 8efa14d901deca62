/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QT_PACKETS_PRIVATE_H
#define QT_PACKETS_PRIVATE_H

#include "capture_file.h"
#include "live.h"
#include "reader.h"
#include "tcp.h"

enum { QT_MOST_PORTS = 64, QT_FRAME_KINDS = 7 };

struct qt_packets {
    struct qt_reader reader;     /* first */
    char **paths;
    int32_t n_paths, file;
    struct qt_capture_file *open;
    struct qt_live *live;        /* NULL: files */
    uint64_t bytes_before;       /* of the files done */
    uint64_t bytes;              /* of packets taken */
    int64_t packet;              /* number in its file, from 1 */
    int64_t last_when_ns;
    int ended, told_end;
    struct qt_tcp *tcp;
    struct qt_normalizer *normalizer;
    int64_t next_session;
    uint64_t encrypted;
    uint64_t lost;               /* live: packets dropped, as last seen at looked_ns */
    int64_t looked_ns;
    uint64_t frames[QT_FRAME_KINDS];
    char server_version[128];    /* of the last greeting */
};

/* packets_events.c: the decoders' sink. */
struct qt_wire_sink qt_packets_sink(struct qt_packets *);
int qt_packets_take(struct qt_packets *, const struct qt_packet *, struct qt_error *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS state of one connection, shared by session.c (records), resync.c (missing bytes) and tls.c (bytes,
 * waiting). */
#ifndef QT_TLS_STATE_H
#define QT_TLS_STATE_H

#include "base/bytes.h"
#include "tls/handshake.h"
#include "tls/key_log.h"
#include "tls/record.h"
#include "tls/tls_types.h"

struct qt_tls_waiting { /* a complete record that waits for its keys */
    struct qt_tls_waiting *next;
    int way;
    int64_t first_ns, last_ns, packet;
    size_t n;
    uint8_t p[];
};

struct qt_tls_way {
    struct qt_bytes part;     /* bytes of an incomplete record, or bytes to search for a record */
    int64_t first_ns, packet; /* time and packet number of the first byte in `part` */
    int ciphered;             /* later records are encrypted */
    int waiting;              /* number of waiting records of this direction */
    int proven;               /* at least one record has authenticated */
    int ended;                /* close_notify or a fatal alert was received */
    int lost;                 /* bytes were missing: search for the next record */
    uint64_t lost_bytes;      /* lost bytes after the last authenticated record */
    uint64_t seq;             /* sequence number of the next record */
    unsigned handshake;       /* TLS 1.3: number of records before the first authenticated record */
    struct qt_tls_secret secret;
    struct qt_tls_record_keys keys;
    struct qt_tls_messages messages;
};

struct qt_tls {
    struct qt_tls_log *log; /* not owned */
    struct qt_tls_sink sink;
    enum qt_tls_end end;
    int ready; /* both directions have keys */
    struct qt_tls_hellos hellos;
    struct qt_tls_hellos again; /* hellos of a renegotiation, up to TLS 1.2 */
    int renewed;                /* bit set of the directions with renegotiated keys: 1 | 2 */
    struct qt_tls_way way[2];
    struct qt_tls_waiting *first, **last; /* list of waiting records; `last`: where to append */
    size_t waiting;                       /* bytes of the waiting records */
    uint64_t tried;                       /* bytes decrypted without success during searches */
    uint8_t *plain;                       /* scratch buffer of the log: the last decrypted content */
};

#endif

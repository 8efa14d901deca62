/* SPDX-License-Identifier: Apache-2.0 */
/* Types of one connection's TLS, between session.c (records), resync.c (gaps) and tls.c (bytes, waiting). */
#ifndef QT_TLS_STATE_H
#define QT_TLS_STATE_H

#include "base/bytes.h"
#include "tls/handshake.h"
#include "tls/key_log.h"
#include "tls/record.h"
#include "tls/tls_types.h"

struct qt_tls_waiting { /* a whole record whose keys are not there yet */
    struct qt_tls_waiting *next;
    int way;
    int64_t first_ns, last_ns, packet;
    size_t n;
    uint8_t p[];
};

struct qt_tls_way {
    struct qt_bytes part;     /* bytes from a record's begin on, or in which one is sought */
    int64_t first_ns, packet; /* of its first byte */
    int ciphered;             /* what comes is encrypted */
    int waiting;              /* records of this way that wait */
    int proven;               /* a record has authenticated */
    int ended;                /* close_notify, or a fatal alert */
    int lost;                 /* behind a gap: where a record begins is sought */
    uint64_t lost_bytes;      /* since the last record that authenticated */
    uint64_t seq;             /* of the next record */
    unsigned handshake;       /* TLS 1.3: records before the first that authenticated */
    struct qt_tls_secret secret;
    struct qt_tls_record_keys keys;
    struct qt_tls_messages messages;
};

struct qt_tls {
    struct qt_tls_log *log; /* not owned */
    struct qt_tls_sink sink;
    enum qt_tls_end end;
    int ready; /* both ways have keys */
    struct qt_tls_hellos hellos;
    struct qt_tls_hellos again; /* of a renegotiation, up to TLS 1.2 */
    int renewed;                /* ways that have its keys: 1 | 2 */
    struct qt_tls_way way[2];
    struct qt_tls_waiting *first, **last; /* `last`: where the next one is put */
    size_t waiting;                       /* bytes of theirs */
    uint64_t tried;                       /* bytes decrypted in vain while a record was sought */
    uint8_t *plain;                       /* the log's scratch: what was decrypted last */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Handshake messages of one way: the two hellos are read, all others skipped; of those behind the handshake it is
 * told which they are. */
#ifndef QT_TLS_HANDSHAKE_H
#define QT_TLS_HANDSHAKE_H

#include "base/bytes.h"
#include "tls/key_schedule.h"

enum { QT_TLS_HELLO_REQUEST = 0, QT_TLS_CLIENT_HELLO = 1, QT_TLS_SERVER_HELLO = 2, QT_TLS_KEY_UPDATE = 24 };

struct qt_tls_hellos { /* what both have agreed */
    int has_client, has_server;
    int retried; /* the server asked for another ClientHello: TLS 1.3, whatever comes next */
    uint8_t client_random[QT_TLS_RANDOM], server_random[QT_TLS_RANDOM];
    int version, suite, mac_last;
    int other; /* compression or a truncated HMAC: what cannot be read */
};

/* Messages may be split over records, and several be in one. The owner zeroes it, and frees `hello`. */
struct qt_tls_messages {
    uint8_t header[4];
    size_t has_header, left; /* bytes of the header that came; of the message that are still due */
    struct qt_bytes hello;   /* a hello as far as it came */
};

/* Takes bytes of handshake records. Each message that ends in them sets the bit of its type in *ended (types below 64).
 * A hello is read into `out`, unless NULL. 0, -1 = a hello that is damaged, -2 = out of memory. */
int qt_tls_messages_take(struct qt_tls_messages *, const uint8_t *p, size_t n, struct qt_tls_hellos *out,
                         uint64_t *ended);

#endif

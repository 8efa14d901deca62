/* SPDX-License-Identifier: Apache-2.0 */
/* Handshake messages of one direction. The two hellos are parsed, and all other messages are skipped. The caller gets
 * the types of all messages that ended. */
#ifndef QT_TLS_HANDSHAKE_H
#define QT_TLS_HANDSHAKE_H

#include "base/bytes.h"
#include "tls/key_schedule.h"

enum { QT_TLS_HELLO_REQUEST = 0, QT_TLS_CLIENT_HELLO = 1, QT_TLS_SERVER_HELLO = 2, QT_TLS_KEY_UPDATE = 24 };

struct qt_tls_hellos { /* parameters that both sides have agreed on */
    int has_client, has_server;
    int retried; /* the server requested another ClientHello: always TLS 1.3 */
    uint8_t client_random[QT_TLS_RANDOM], server_random[QT_TLS_RANDOM];
    int version, suite, mac_last;
    int other; /* compression or a truncated HMAC, which cannot be read */
};

/* A parser of handshake messages. A message may span several records, and a record may contain several messages. The
 * owner zeroes the struct and frees `hello`. */
struct qt_tls_messages {
    uint8_t header[4];
    size_t has_header, left; /* header bytes received; message bytes still missing */
    struct qt_bytes hello;   /* the bytes of a hello so far */
};

/* Takes bytes of handshake records. For each message that ends in these bytes, sets the bit of its type in *ended (only
 * types below 64). Parses a hello into `out`, unless `out` is NULL. Returns 0, -1 for a damaged hello, -2 when out of
 * memory. */
int qt_tls_messages_take(struct qt_tls_messages *, const uint8_t *p, size_t n, struct qt_tls_hellos *out,
                         uint64_t *ended);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Types of what the users of tls.h hand in and get back. Ways: 0 = the client's, 1 = the server's. */
#ifndef QT_TLS_TYPES_H
#define QT_TLS_TYPES_H

#include <stddef.h>
#include <stdint.h>

enum qt_tls_end {
    QT_TLS_GOES_ON = 0,
    QT_TLS_NO_KEYS,     /* none came for this connection */
    QT_TLS_WRONG_KEYS,  /* there are some, and nothing authenticates with them */
    QT_TLS_UNSUPPORTED, /* a cipher suite or a version that is not read */
    QT_TLS_REFUSED,     /* one side ended the handshake with an alert: there was never a login */
    QT_TLS_LOST,        /* a gap in the handshake, no TLS at all, or a gap behind which no record was found */
    QT_TLS_RENEGOTIATED /* new keys were agreed on inside the old ones, and none came for them */
};

struct qt_tls_plain {
    const uint8_t *p; /* until the function returns */
    size_t n;
    int64_t first_ns, last_ns, packet; /* of the record */
};

/* What is told; each returns QT_OK or a code, which ends all. */
struct qt_tls_sink {
    void *self;
    int (*plain)(void *self, int way, const struct qt_tls_plain *);
    int (*gap)(void *self, int way, uint64_t lost, int64_t when_ns, int64_t packet);
};

#endif

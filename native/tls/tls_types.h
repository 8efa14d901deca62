/* SPDX-License-Identifier: Apache-2.0 */
/* Types for the callers of tls.h. Directions (`way`): 0 = from the client, 1 = from the server. */
#ifndef QT_TLS_TYPES_H
#define QT_TLS_TYPES_H

#include <stddef.h>
#include <stdint.h>

enum qt_tls_end {
    QT_TLS_GOES_ON = 0,
    QT_TLS_NO_KEYS,     /* the log has no keys for this connection */
    QT_TLS_WRONG_KEYS,  /* there are keys, but no record authenticates with them */
    QT_TLS_UNSUPPORTED, /* the cipher suite or TLS version is not supported */
    QT_TLS_REFUSED,     /* a side ended the handshake with an alert: there was no login */
    QT_TLS_LOST,        /* bytes missing in the handshake, not TLS, or no record found after missing bytes */
    QT_TLS_RENEGOTIATED /* a renegotiation without keys in the log */
};

struct qt_tls_plain {
    const uint8_t *p; /* valid until the function returns */
    size_t n;
    int64_t first_ns, last_ns, packet; /* times and packet of the record */
};

/* Callbacks for the results. Each returns QT_OK, or an error code that ends the reading. */
struct qt_tls_sink {
    void *self;
    int (*plain)(void *self, int way, const struct qt_tls_plain *);
    int (*gap)(void *self, int way, uint64_t lost, int64_t when_ns, int64_t packet);
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From secrets of a key log to keys of records: HKDF-Expand-Label of TLS 1.3 (RFC 8446 7.1), the PRF of TLS 1.0 to 1.2
 * (RFC 2246, RFC 5246). Everything is written to the caller's memory, which the caller cleanses. All return 0, or -1
 * where libcrypto refuses. */
#ifndef QT_TLS_KEY_SCHEDULE_H
#define QT_TLS_KEY_SCHEDULE_H

#include <stddef.h>

#include "tls/suites.h"

enum { QT_TLS_RANDOM = 32, QT_TLS_SECRET_MAX = 48 };

struct qt_tls_secret {
    uint8_t n; /* 0 = none */
    uint8_t p[QT_TLS_SECRET_MAX];
};

struct qt_tls_material { /* keys of one way */
    uint8_t key[32], iv[16], mac[48];
};

/* HKDF-Expand-Label without context; `hash` is 32 or 48. */
int qt_tls_expand_label(int hash, const struct qt_tls_secret *, const char *label, uint8_t *out, size_t n);
/* TLS 1.3: keys of a traffic secret. */
int qt_tls_traffic_keys(const struct qt_tls_suite *, const struct qt_tls_secret *, struct qt_tls_material *out);
/* TLS 1.3: the traffic secret behind a KeyUpdate, in its place. */
int qt_tls_next_secret(const struct qt_tls_suite *, struct qt_tls_secret *);
/* TLS 1.0 to 1.2: keys of the client (out[0]) and the server (out[1]). */
int qt_tls_master_keys(const struct qt_tls_suite *, int version, const struct qt_tls_secret *master,
                       const uint8_t client_random[QT_TLS_RANDOM], const uint8_t server_random[QT_TLS_RANDOM],
                       struct qt_tls_material out[2]);

#endif

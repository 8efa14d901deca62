/* SPDX-License-Identifier: Apache-2.0 */
/* The cipher suites that MySQL's servers and clients agree on, and what each is made of. */
#ifndef QT_TLS_SUITES_H
#define QT_TLS_SUITES_H

#include <stdint.h>

enum { QT_TLS_10 = 0x0301, QT_TLS_11 = 0x0302, QT_TLS_12 = 0x0303, QT_TLS_13 = 0x0304 };

enum qt_tls_kind { QT_TLS_GCM, QT_TLS_CHACHA20, QT_TLS_CBC };

struct qt_tls_suite {
    uint16_t id;
    uint8_t kind;      /* enum qt_tls_kind */
    uint8_t is_13;     /* of TLS 1.3 alone */
    uint8_t key_bytes; /* of the cipher */
    uint8_t mac_bytes; /* CBC: 20, 32 or 48, of HMAC-SHA1, -SHA256 or -SHA384 */
    uint8_t hash;      /* bytes of the hash that keys are made with, from TLS 1.2 on: 32 = SHA256, 48 = SHA384 */
};

/* NULL where it is not known. */
const struct qt_tls_suite *qt_tls_suite_find(uint16_t id);

#endif

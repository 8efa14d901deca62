/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the secrets of a key log to record keys: with HKDF-Expand-Label of TLS 1.3 (RFC 8446 7.1), or with the PRF
 * of TLS 1.0 to 1.2 (RFC 2246, RFC 5246). All results are written to the caller's memory, and the caller cleanses it.
 * All functions return 0, or -1 if libcrypto fails. */
#ifndef QT_TLS_KEY_SCHEDULE_H
#define QT_TLS_KEY_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/* The cipher suites that MySQL servers and clients use, and their parts. */
enum { QT_TLS_10 = 0x0301, QT_TLS_11 = 0x0302, QT_TLS_12 = 0x0303, QT_TLS_13 = 0x0304 };

enum qt_tls_kind { QT_TLS_GCM, QT_TLS_CHACHA20, QT_TLS_CBC };

struct qt_tls_suite {
    uint16_t id;
    uint8_t kind;      /* enum qt_tls_kind */
    uint8_t is_13;     /* only for TLS 1.3 */
    uint8_t key_bytes; /* key length of the cipher */
    uint8_t mac_bytes; /* CBC only: 20, 32 or 48 for HMAC-SHA1, -SHA256 or -SHA384 */
    uint8_t hash;      /* length of the hash for key derivation in TLS 1.2 and later: 32 = SHA256, 48 = SHA384 */
};

/* Returns NULL for an unknown suite. */
const struct qt_tls_suite *qt_tls_suite_find(uint16_t id);

enum { QT_TLS_RANDOM = 32, QT_TLS_SECRET_MAX = 48 };

struct qt_tls_secret {
    uint8_t n; /* bytes of the secret; 0 = none */
    uint8_t p[QT_TLS_SECRET_MAX];
};

struct qt_tls_material { /* keys of one direction */
    uint8_t key[32], iv[16], mac[48];
};

/* Computes HKDF-Expand-Label without context. `hash` is 32 or 48. */
int qt_tls_expand_label(int hash, const struct qt_tls_secret *, const char *label, uint8_t *out, size_t n);
/* TLS 1.3: derives the keys from a traffic secret. */
int qt_tls_traffic_keys(const struct qt_tls_suite *, const struct qt_tls_secret *, struct qt_tls_material *out);
/* TLS 1.3: replaces a traffic secret with the secret after a KeyUpdate. */
int qt_tls_next_secret(const struct qt_tls_suite *, struct qt_tls_secret *);
/* TLS 1.0 to 1.2: derives the keys of the client (out[0]) and of the server (out[1]). */
int qt_tls_master_keys(const struct qt_tls_suite *, int version, const struct qt_tls_secret *master,
                       const uint8_t client_random[QT_TLS_RANDOM], const uint8_t server_random[QT_TLS_RANDOM],
                       struct qt_tls_material out[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One TLS record: its header and its decrypted content. */
#ifndef QT_TLS_RECORD_H
#define QT_TLS_RECORD_H

#include <openssl/evp.h>

#include "tls/key_schedule.h"

enum { QT_TLS_HEADER = 5, QT_TLS_RECORD_MAX = 16384 + 2048 }; /* QT_TLS_RECORD_MAX: bytes after the header */

enum { QT_TLS_CCS = 20, QT_TLS_ALERT = 21, QT_TLS_HANDSHAKE = 22, QT_TLS_DATA = 23 };

/* Keys of one direction. The owner zeroes the struct before its first use. qt_tls_record_keys_free frees it. */
struct qt_tls_record_keys {
    const struct qt_tls_suite *suite; /* NULL = no keys yet */
    int version, mac_last;            /* mac_last: encrypt-then-MAC (RFC 7366) */
    uint8_t iv[16], mac[48];
    EVP_CIPHER_CTX *cipher;
    EVP_MAC_CTX *hmac;
};

/* Sets or replaces the keys. Returns 0, or -1 if libcrypto fails. */
int qt_tls_record_keys_set(struct qt_tls_record_keys *, const struct qt_tls_suite *, int version, int mac_last,
                           const struct qt_tls_material *);
void qt_tls_record_keys_free(struct qt_tls_record_keys *);
/* Returns the minimum number of bytes after a record's header. */
size_t qt_tls_record_min(const struct qt_tls_record_keys *);
/* Decrypts the complete record of n bytes at p, including its header. `out` must have room for QT_TLS_RECORD_MAX bytes.
 * Returns 0, or -1 if the record does not authenticate with these keys and this sequence number. `out` then contains no
 * data. */
int qt_tls_record_decrypt(struct qt_tls_record_keys *, const uint8_t *p, size_t n, uint64_t seq, uint8_t *out,
                          size_t *out_len, int *type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/key_schedule.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stddef.h>
#include <string.h>

/* Derives n bytes with the key derivation function `name` of libcrypto and its `params`. */
static int derive(const char *name, const OSSL_PARAM *params, uint8_t *out, size_t n)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, name, NULL);
    EVP_KDF_CTX *context = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
    int done = context != NULL && EVP_KDF_derive(context, out, n, params) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return done ? 0 : -1;
}

int qt_tls_expand_label(int hash, const struct qt_tls_secret *secret, const char *label, uint8_t *out, size_t n)
{
    uint8_t info[64]; /* length, length and text of the label, length of the context (0) */
    size_t len = strlen(label);
    if (len > sizeof info - 10)
        return -1;
    info[0] = (uint8_t)(n >> 8);
    info[1] = (uint8_t)n;
    info[2] = (uint8_t)(len + 6);
    memcpy(info + 3, "tls13 ", 6);
    memcpy(info + 9, label, len);
    info[9 + len] = 0;
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
    char digest[8];
    strcpy(digest, hash == 48 ? "SHA384" : "SHA256");
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret->p, secret->n),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, len + 10),
        OSSL_PARAM_construct_end(),
    };
    return derive("HKDF", params, out, n);
}

int qt_tls_traffic_keys(const struct qt_tls_suite *suite, const struct qt_tls_secret *secret,
                        struct qt_tls_material *out)
{
    memset(out, 0, sizeof *out);
    return qt_tls_expand_label(suite->hash, secret, "key", out->key, suite->key_bytes) |
           qt_tls_expand_label(suite->hash, secret, "iv", out->iv, 12);
}

int qt_tls_next_secret(const struct qt_tls_suite *suite, struct qt_tls_secret *secret)
{
    struct qt_tls_secret next = {.n = suite->hash};
    int bad = qt_tls_expand_label(suite->hash, secret, "traffic upd", next.p, next.n);
    if (!bad)
        *secret = next;
    OPENSSL_cleanse(&next, sizeof next);
    return bad;
}

int qt_tls_master_keys(const struct qt_tls_suite *suite, int version, const struct qt_tls_secret *master,
                       const uint8_t client_random[QT_TLS_RANDOM], const uint8_t server_random[QT_TLS_RANDOM],
                       struct qt_tls_material out[2])
{
    uint8_t block[2 * (48 + 32 + 16)], seed[13 + 2 * QT_TLS_RANDOM];
    memcpy(seed, "key expansion", 13);
    memcpy(seed + 13, server_random, QT_TLS_RANDOM);
    memcpy(seed + 13 + QT_TLS_RANDOM, client_random, QT_TLS_RANDOM);
    size_t iv = suite->kind == QT_TLS_GCM ? 4 : suite->kind == QT_TLS_CHACHA20 ? 12 : version == QT_TLS_10 ? 16 : 0;
    size_t mac = suite->mac_bytes, key = suite->key_bytes;
    char digest[16];
    strcpy(digest, version < QT_TLS_12 ? "MD5-SHA1" : suite->hash == 48 ? "SHA384" : "SHA256");
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, (void *)(uintptr_t)master->p, master->n),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof seed),
        OSSL_PARAM_construct_end(),
    };
    int bad = derive("TLS1-PRF", params, block, 2 * (mac + key + iv));
    memset(out, 0, 2 * sizeof *out);
    for (size_t way = 0; way < 2 && !bad; way++) {
        memcpy(out[way].mac, block + way * mac, mac);
        memcpy(out[way].key, block + 2 * mac + way * key, key);
        memcpy(out[way].iv, block + 2 * (mac + key) + way * iv, iv);
    }
    OPENSSL_cleanse(block, sizeof block);
    return bad;
}

/* Cipher suites with their numbers in IANA's registry "TLS Cipher Suites". The key exchange (RSA, DHE, ECDHE) does not
 * matter, because the key log contains its result. */
static const struct qt_tls_suite suites[] = {
    {0x1301, QT_TLS_GCM, 1, 16, 0, 32},      /* TLS_AES_128_GCM_SHA256 */
    {0x1302, QT_TLS_GCM, 1, 32, 0, 48},      /* TLS_AES_256_GCM_SHA384 */
    {0x1303, QT_TLS_CHACHA20, 1, 32, 0, 32}, /* TLS_CHACHA20_POLY1305_SHA256 */
    {0x009C, QT_TLS_GCM, 0, 16, 0, 32},      /* RSA_WITH_AES_128_GCM_SHA256 */
    {0x009D, QT_TLS_GCM, 0, 32, 0, 48},      /* RSA_WITH_AES_256_GCM_SHA384 */
    {0x009E, QT_TLS_GCM, 0, 16, 0, 32},      /* DHE_RSA_WITH_AES_128_GCM_SHA256 */
    {0x009F, QT_TLS_GCM, 0, 32, 0, 48},      /* DHE_RSA_WITH_AES_256_GCM_SHA384 */
    {0x00A2, QT_TLS_GCM, 0, 16, 0, 32},      /* DHE_DSS_WITH_AES_128_GCM_SHA256 */
    {0x00A3, QT_TLS_GCM, 0, 32, 0, 48},      /* DHE_DSS_WITH_AES_256_GCM_SHA384 */
    {0xC02B, QT_TLS_GCM, 0, 16, 0, 32},      /* ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 */
    {0xC02C, QT_TLS_GCM, 0, 32, 0, 48},      /* ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 */
    {0xC02F, QT_TLS_GCM, 0, 16, 0, 32},      /* ECDHE_RSA_WITH_AES_128_GCM_SHA256 */
    {0xC030, QT_TLS_GCM, 0, 32, 0, 48},      /* ECDHE_RSA_WITH_AES_256_GCM_SHA384 */
    {0xCCA8, QT_TLS_CHACHA20, 0, 32, 0, 32}, /* ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 */
    {0xCCA9, QT_TLS_CHACHA20, 0, 32, 0, 32}, /* ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 */
    {0xCCAA, QT_TLS_CHACHA20, 0, 32, 0, 32}, /* DHE_RSA_WITH_CHACHA20_POLY1305_SHA256 */
    {0x002F, QT_TLS_CBC, 0, 16, 20, 32},     /* RSA_WITH_AES_128_CBC_SHA */
    {0x0035, QT_TLS_CBC, 0, 32, 20, 32},     /* RSA_WITH_AES_256_CBC_SHA */
    {0x0032, QT_TLS_CBC, 0, 16, 20, 32},     /* DHE_DSS_WITH_AES_128_CBC_SHA */
    {0x0038, QT_TLS_CBC, 0, 32, 20, 32},     /* DHE_DSS_WITH_AES_256_CBC_SHA */
    {0x0033, QT_TLS_CBC, 0, 16, 20, 32},     /* DHE_RSA_WITH_AES_128_CBC_SHA */
    {0x0039, QT_TLS_CBC, 0, 32, 20, 32},     /* DHE_RSA_WITH_AES_256_CBC_SHA */
    {0xC009, QT_TLS_CBC, 0, 16, 20, 32},     /* ECDHE_ECDSA_WITH_AES_128_CBC_SHA */
    {0xC00A, QT_TLS_CBC, 0, 32, 20, 32},     /* ECDHE_ECDSA_WITH_AES_256_CBC_SHA */
    {0xC013, QT_TLS_CBC, 0, 16, 20, 32},     /* ECDHE_RSA_WITH_AES_128_CBC_SHA */
    {0xC014, QT_TLS_CBC, 0, 32, 20, 32},     /* ECDHE_RSA_WITH_AES_256_CBC_SHA */
    {0x003C, QT_TLS_CBC, 0, 16, 32, 32},     /* RSA_WITH_AES_128_CBC_SHA256 */
    {0x003D, QT_TLS_CBC, 0, 32, 32, 32},     /* RSA_WITH_AES_256_CBC_SHA256 */
    {0x0040, QT_TLS_CBC, 0, 16, 32, 32},     /* DHE_DSS_WITH_AES_128_CBC_SHA256 */
    {0x006A, QT_TLS_CBC, 0, 32, 32, 32},     /* DHE_DSS_WITH_AES_256_CBC_SHA256 */
    {0x0067, QT_TLS_CBC, 0, 16, 32, 32},     /* DHE_RSA_WITH_AES_128_CBC_SHA256 */
    {0x006B, QT_TLS_CBC, 0, 32, 32, 32},     /* DHE_RSA_WITH_AES_256_CBC_SHA256 */
    {0xC023, QT_TLS_CBC, 0, 16, 32, 32},     /* ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 */
    {0xC027, QT_TLS_CBC, 0, 16, 32, 32},     /* ECDHE_RSA_WITH_AES_128_CBC_SHA256 */
    {0xC024, QT_TLS_CBC, 0, 32, 48, 48},     /* ECDHE_ECDSA_WITH_AES_256_CBC_SHA384 */
    {0xC028, QT_TLS_CBC, 0, 32, 48, 48},     /* ECDHE_RSA_WITH_AES_256_CBC_SHA384 */
};

const struct qt_tls_suite *qt_tls_suite_find(uint16_t id)
{
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (suites[i].id == id)
            return &suites[i];
    return NULL;
}

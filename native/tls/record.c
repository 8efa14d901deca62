/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of an encrypted record after its header:
 *
 *   GCM, TLS 1.2            8 bytes of nonce | ciphertext | 16 of tag
 *   ChaCha20, all of 1.3    ciphertext | 16 of tag; nonce = IV xor sequence
 *   CBC                     [16 of IV, from TLS 1.1 on] | ciphertext of (content | MAC | padding)
 *   CBC, encrypt-then-MAC   [IV] | ciphertext of (content | padding) | MAC
 *
 * In TLS 1.3 the decrypted content ends with its type and optional zeros. */
#include "tls/record.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <string.h>

enum { TAG = 16, BLOCK = 16, EXPLICIT_NONCE = 8 };

static const EVP_CIPHER *cipher_of(const struct qt_tls_suite *s)
{
    switch (s->kind) {
    case QT_TLS_GCM:
        return s->key_bytes == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    case QT_TLS_CHACHA20:
        return EVP_chacha20_poly1305();
    default:
        return s->key_bytes == 16 ? EVP_aes_128_cbc() : EVP_aes_256_cbc();
    }
}

static int set_hmac(struct qt_tls_record_keys *k)
{
    char digest[8];
    strcpy(digest, k->suite->mac_bytes == 48 ? "SHA384" : k->suite->mac_bytes == 32 ? "SHA256" : "SHA1");
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    EVP_MAC *mac = k->hmac == NULL ? EVP_MAC_fetch(NULL, "HMAC", NULL) : NULL;
    if (k->hmac == NULL)
        k->hmac = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac);
    return k->hmac != NULL && EVP_MAC_CTX_set_params(k->hmac, params) == 1 ? 0 : -1;
}

int qt_tls_record_keys_set(struct qt_tls_record_keys *k, const struct qt_tls_suite *suite, int version, int mac_last,
                           const struct qt_tls_material *m)
{
    k->suite = suite;
    k->version = version;
    k->mac_last = mac_last && suite->kind == QT_TLS_CBC;
    memcpy(k->iv, m->iv, sizeof k->iv);
    memcpy(k->mac, m->mac, sizeof k->mac);
    if (k->cipher == NULL)
        k->cipher = EVP_CIPHER_CTX_new();
    if (k->cipher == NULL || EVP_DecryptInit_ex(k->cipher, cipher_of(suite), NULL, m->key, NULL) != 1)
        return -1;
    EVP_CIPHER_CTX_set_padding(k->cipher, 0);
    return suite->kind == QT_TLS_CBC ? set_hmac(k) : 0;
}

void qt_tls_record_keys_free(struct qt_tls_record_keys *k)
{
    EVP_CIPHER_CTX_free(k->cipher); /* also cleanses its key */
    EVP_MAC_CTX_free(k->hmac);
    OPENSSL_cleanse(k, sizeof *k);
}

size_t qt_tls_record_min(const struct qt_tls_record_keys *k)
{
    if (k->suite->kind != QT_TLS_CBC)
        return TAG + (k->version == QT_TLS_13 ? 1 : k->suite->kind == QT_TLS_GCM ? EXPLICIT_NONCE : 0);
    size_t iv = k->version > QT_TLS_10 ? BLOCK : 0, mac = k->suite->mac_bytes;
    return iv + (k->mac_last ? BLOCK + mac : (mac / BLOCK + 1) * BLOCK);
}

/* Writes sequence number, type, version and length: the data that is authenticated together with the content. */
static void write_header(uint8_t out[13], uint64_t seq, const uint8_t *record, size_t n)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(seq >> (56 - 8 * i));
    memcpy(out + 8, record, 3);
    out[11] = (uint8_t)(n >> 8);
    out[12] = (uint8_t)n;
}

/* Removes the content type. It is the last byte that is not zero. */
static int cut_type(const uint8_t *p, size_t *n, int *type)
{
    while (*n > 0 && p[*n - 1] == 0)
        --*n;
    if (*n == 0)
        return -1;
    *type = p[--*n];
    return 0;
}

static int decrypt_aead(struct qt_tls_record_keys *k, const uint8_t *p, size_t n, uint64_t seq, uint8_t *out,
                        size_t *out_len, int *type)
{
    uint8_t nonce[12], header[13], tag[TAG];
    int is_13 = k->version == QT_TLS_13, got = 0, rest = 0;
    size_t skip = !is_13 && k->suite->kind == QT_TLS_GCM ? EXPLICIT_NONCE : 0;
    size_t len = n - QT_TLS_HEADER - skip - TAG;
    const uint8_t *body = p + QT_TLS_HEADER + skip;
    memcpy(nonce, k->iv, sizeof nonce);
    if (skip > 0)
        memcpy(nonce + 4, p + QT_TLS_HEADER, EXPLICIT_NONCE);
    for (int i = 0; i < 8 && skip == 0; i++)
        nonce[4 + i] ^= (uint8_t)(seq >> (56 - 8 * i));
    write_header(header, seq, p, len);
    memcpy(tag, body + len, TAG);
    const uint8_t *authenticated = is_13 ? p : header;
    int done = EVP_DecryptInit_ex(k->cipher, NULL, NULL, NULL, nonce) == 1 &&
               EVP_DecryptUpdate(k->cipher, NULL, &got, authenticated, is_13 ? QT_TLS_HEADER : 13) == 1 &&
               EVP_DecryptUpdate(k->cipher, out, &got, body, (int)len) == 1 &&
               EVP_CIPHER_CTX_ctrl(k->cipher, EVP_CTRL_AEAD_SET_TAG, TAG, tag) == 1 &&
               EVP_DecryptFinal_ex(k->cipher, out + got, &rest) == 1;
    *out_len = len;
    *type = p[0];
    return !done ? -1 : is_13 ? cut_type(out, out_len, type) : 0;
}

/* Returns whether the MAC at `mac` matches the n bytes at p. */
static int fits(struct qt_tls_record_keys *k, const uint8_t *record, uint64_t seq, const uint8_t *p, size_t n,
                const uint8_t *mac)
{
    uint8_t header[13], made[EVP_MAX_MD_SIZE];
    size_t len = 0;
    write_header(header, seq, record, n);
    return EVP_MAC_init(k->hmac, k->mac, k->suite->mac_bytes, NULL) == 1 &&
           EVP_MAC_update(k->hmac, header, sizeof header) == 1 && EVP_MAC_update(k->hmac, p, n) == 1 &&
           EVP_MAC_final(k->hmac, made, &len, sizeof made) == 1 && len == k->suite->mac_bytes &&
           CRYPTO_memcmp(made, mac, len) == 0;
}

static int decrypt_cbc(struct qt_tls_record_keys *k, const uint8_t *p, size_t n, uint64_t seq, uint8_t *out,
                       size_t *out_len, int *type)
{
    const uint8_t *body = p + QT_TLS_HEADER, *iv = k->iv;
    size_t len = n - QT_TLS_HEADER, mac = k->suite->mac_bytes;
    int got = 0;
    if (k->mac_last) {
        len -= mac;
        if (!fits(k, p, seq, body, len, body + len))
            return -1;
    }
    if (k->version > QT_TLS_10) {
        iv = body;
        body += BLOCK;
        len -= BLOCK;
    }
    if (len == 0 || len % BLOCK != 0 || EVP_DecryptInit_ex(k->cipher, NULL, NULL, NULL, iv) != 1 ||
        EVP_DecryptUpdate(k->cipher, out, &got, body, (int)len) != 1 || (size_t)got != len)
        return -1;
    size_t padding = (size_t)out[len - 1] + 1;
    if (padding + (k->mac_last ? 0 : mac) > len)
        return -1;
    for (size_t i = len - padding; i < len; i++)
        if (out[i] != padding - 1)
            return -1;
    *out_len = len - padding - (k->mac_last ? 0 : mac);
    *type = p[0];
    if (!k->mac_last && !fits(k, p, seq, out, *out_len, out + *out_len))
        return -1;
    if (k->version == QT_TLS_10)
        memcpy(k->iv, body + len - BLOCK, BLOCK); /* IV of the next record */
    return 0;
}

int qt_tls_record_decrypt(struct qt_tls_record_keys *k, const uint8_t *p, size_t n, uint64_t seq, uint8_t *out,
                          size_t *out_len, int *type)
{
    if (k->suite == NULL || n < QT_TLS_HEADER + qt_tls_record_min(k) || n > QT_TLS_HEADER + QT_TLS_RECORD_MAX)
        return -1;
    return k->suite->kind == QT_TLS_CBC ? decrypt_cbc(k, p, n, seq, out, out_len, type)
                                        : decrypt_aead(k, p, n, seq, out, out_len, type);
}

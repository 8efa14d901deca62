/* SPDX-License-Identifier: Apache-2.0 */
/* Creates records of one side of a TLS 1.3 connection with known secrets, for the C tests and the fuzz target. */
#ifndef QT_TLS_RECORDS_H
#define QT_TLS_RECORDS_H

#include <string.h>

#include "tls/record.h"

/* Application traffic secrets of the client and the server from RFC 8448, section 3. */
#define CLIENT_SECRET "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5"
#define SERVER_SECRET "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643"
#define RANDOM "4141414141414141414141414141414141414141414141414141414141414141"
#define KEY_LOG \
    "# made up\nCLIENT_TRAFFIC_SECRET_0 " RANDOM " " CLIENT_SECRET "\nSERVER_TRAFFIC_SECRET_0 " RANDOM \
    " " SERVER_SECRET "\n"

static inline size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (; hex[0] != '\0'; hex += *hex == ' ' ? 1 : 2)
        if (*hex != ' ') {
            const char digits[] = {hex[0], hex[1], '\0'};
            out[n++] = (uint8_t)strtoul(digits, NULL, 16);
        }
    return n;
}

static inline struct qt_tls_secret secret_of(const char *hex)
{
    struct qt_tls_secret s = {0};
    s.n = (uint8_t)from_hex(hex, s.p);
    return s;
}

/* Writes a TLS 1.3 record with AES-128-GCM, including its header. Returns its size. */
static inline size_t seal(const struct qt_tls_secret *secret, uint64_t seq, int type, const void *content, size_t n,
                          uint8_t *out)
{
    struct qt_tls_material m;
    uint8_t nonce[12], last = (uint8_t)type;
    int got = 0, rest = 0;
    size_t len = n + 1 + 16;
    uint8_t header[5] = {23, 3, 3, (uint8_t)(len >> 8), (uint8_t)len};
    qt_tls_traffic_keys(qt_tls_suite_find(0x1301), secret, &m);
    memcpy(nonce, m.iv, 12);
    for (int i = 0; i < 8; i++)
        nonce[4 + i] ^= (uint8_t)(seq >> (56 - 8 * i));
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(c, EVP_aes_128_gcm(), NULL, m.key, nonce);
    EVP_EncryptUpdate(c, NULL, &got, header, 5);
    memcpy(out, header, 5);
    size_t at = 5;
    if (n > 0) {
        EVP_EncryptUpdate(c, out + at, &got, content, (int)n);
        at += (size_t)got;
    }
    EVP_EncryptUpdate(c, out + at, &got, &last, 1);
    at += (size_t)got;
    EVP_EncryptFinal_ex(c, out + at, &rest);
    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, out + at);
    EVP_CIPHER_CTX_free(c);
    return at + 16;
}

/* Writes a hello that negotiates TLS 1.3 with AES-128-GCM. The client random is RANDOM. Returns its size. */
static inline size_t hello(int of_server, uint8_t *out)
{
    static const uint8_t behind[] = {0, 0x13, 0x01, 0, 0, 6, 0, 43, 0, 2, 3, 4};
    uint8_t body[64] = {3, 3};
    size_t n = 2;
    memset(body + n, of_server ? 'B' : 'A', 32);
    n += 32;
    memcpy(body + n, behind, of_server ? sizeof behind : 1);
    n += of_server ? sizeof behind : 1;
    uint8_t head[9] = {22, 3, 1, 0, (uint8_t)(n + 4), of_server ? 2 : 1, 0, 0, (uint8_t)n};
    memcpy(out, head, 9);
    memcpy(out + 9, body, n);
    return n + 9;
}

#endif

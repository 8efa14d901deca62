/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   message       type, length (3 bytes), content
 *   ClientHello   version, random (32), session id, ...
 *   ServerHello   version, random (32), session id, cipher suite, compression, extensions
 */
#include "tls/handshake.h"

#include "base/reading.h"

enum { HELLO_MAX = 1 << 16, MESSAGE_HEADER = 4 };
enum { EXT_TRUNCATED_HMAC = 4, EXT_ENCRYPT_THEN_MAC = 22, EXT_SUPPORTED_VERSIONS = 43 };

/* The random of a ServerHello that requests another ClientHello: SHA-256 of "HelloRetryRequest". */
static const uint8_t retry[QT_TLS_RANDOM] = {0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C,
                                             0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB,
                                             0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C};

static unsigned take_big(struct qt_reading *r, int bytes)
{
    const uint8_t *p = qt_take(r, (uint64_t)bytes);
    unsigned value = 0;
    for (int i = 0; i < bytes && p != NULL; i++)
        value = value << 8 | p[i];
    return value;
}

static int read_client(struct qt_reading *r, struct qt_tls_hellos *out)
{
    take_big(r, 2);
    const uint8_t *random = qt_take(r, QT_TLS_RANDOM);
    if (random == NULL)
        return -1;
    memcpy(out->client_random, random, QT_TLS_RANDOM);
    out->has_client = 1;
    return 0;
}

static void read_extensions(struct qt_reading *r, struct qt_tls_hellos *out)
{
    while (!r->bad && qt_left(r) > 0) {
        unsigned type = take_big(r, 2), len = take_big(r, 2);
        const uint8_t *p = qt_take(r, len);
        if (p == NULL)
            return;
        if (type == EXT_SUPPORTED_VERSIONS && len == 2)
            out->version = p[0] << 8 | p[1];
        out->mac_last |= type == EXT_ENCRYPT_THEN_MAC;
        out->other |= type == EXT_TRUNCATED_HMAC;
    }
}

static int read_server(struct qt_reading *r, struct qt_tls_hellos *out)
{
    int version = (int)take_big(r, 2);
    const uint8_t *random = qt_take(r, QT_TLS_RANDOM);
    qt_take(r, take_big(r, 1));
    int suite = (int)take_big(r, 2);
    unsigned compression = take_big(r, 1);
    if (r->bad)
        return -1;
    out->retried = memcmp(random, retry, QT_TLS_RANDOM) == 0;
    if (out->retried)
        return 0;
    memcpy(out->server_random, random, QT_TLS_RANDOM);
    out->version = version;
    out->suite = suite;
    out->mac_last = 0;
    out->other = compression != 0;
    if (qt_left(r) >= 2) {
        take_big(r, 2);
        read_extensions(r, out);
    }
    out->has_server = !r->bad;
    return r->bad ? -1 : 0;
}

static int read_hello(int type, const struct qt_bytes *hello, struct qt_tls_hellos *out)
{
    struct qt_reading r = qt_reading(hello->p != NULL ? hello->p : "", hello->len);
    return type == QT_TLS_CLIENT_HELLO ? read_client(&r, out) : read_server(&r, out);
}

int qt_tls_messages_take(struct qt_tls_messages *m, const uint8_t *p, size_t n, struct qt_tls_hellos *out,
                         uint64_t *ended)
{
    *ended = 0;
    while (n > 0 || (m->has_header == MESSAGE_HEADER && m->left == 0)) {
        if (m->has_header < MESSAGE_HEADER) {
            m->header[m->has_header++] = *p++;
            n--;
            m->left = (size_t)m->header[1] << 16 | (size_t)m->header[2] << 8 | m->header[3];
            m->hello.len = 0;
            continue;
        }
        int type = m->header[0], is_hello = type == QT_TLS_CLIENT_HELLO || type == QT_TLS_SERVER_HELLO;
        size_t some = m->left < n ? m->left : n;
        if (is_hello && out != NULL && m->hello.len + some <= HELLO_MAX && qt_bytes_add(&m->hello, p, some) != 0)
            return -2;
        p += some;
        n -= some;
        m->left -= some;
        if (m->left > 0)
            continue;
        m->has_header = 0;
        *ended |= type < 64 ? UINT64_C(1) << type : 0;
        if (is_hello && out != NULL && read_hello(type, &m->hello, out) != 0)
            return -1;
        qt_bytes_clear(&m->hello, 0);
    }
    return 0;
}

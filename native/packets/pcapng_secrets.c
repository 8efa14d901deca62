/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   block            type, length | ... | length
 *   section header   0x0A0D0D0A, length, byte order 0x1A2B3C4D, ...
 *   secrets          10, length, type of secrets, their length, secrets, options
 */
#include "packets/pcapng_secrets.h"

#include <openssl/crypto.h>
#include <string.h>

enum { SECTION = 0x0A0D0D0A, SECRETS = 10, TLS_KEY_LOG = 0x544C534B, BYTE_ORDER_MAGIC = 0x1A2B3C4D, SMALLEST = 12 };

static uint32_t number(const struct qt_pcapng_secrets *s, size_t at)
{
    const uint8_t *p = s->head + at;
    return s->big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                  : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* How many bytes of a block must be at hand before it is known what it is. */
static size_t wanted(const struct qt_pcapng_secrets *s)
{
    if (s->has < 8)
        return 8;
    uint32_t type = number(s, 0);
    return type == SECTION ? 12 : type == SECRETS ? 16 : 8;
}

/* The head is whole. */
static void begin_block(struct qt_pcapng_secrets *s)
{
    uint32_t type = number(s, 0);
    s->off = s->off || (!s->began && type != SECTION);
    s->began = 1;
    if (type == SECTION) {
        s->big = 0;
        s->big = number(s, 8) != BYTE_ORDER_MAGIC;
        s->off = s->off || number(s, 8) != BYTE_ORDER_MAGIC;
    }
    uint64_t length = ((uint64_t)number(s, 4) + 3) / 4 * 4;
    if (length < SMALLEST || length <= s->has) {
        s->off = 1;
        return;
    }
    s->left = length - s->has;
    s->secrets = type == SECRETS && number(s, 8) == TLS_KEY_LOG ? number(s, 12) : 0;
    s->off = s->off || s->secrets > s->left;
}

int qt_pcapng_secrets_follow(struct qt_pcapng_secrets *s, char *p, size_t n)
{
    int code = 0;
    while (n > 0 && code == 0 && !s->off && s->log != NULL) {
        if (s->left > 0) {
            uint64_t most = s->secrets > 0 ? s->secrets : s->left;
            size_t some = most < n ? (size_t)most : n;
            if (s->secrets > 0) {
                code = qt_tls_log_take(s->log, &s->lines, p, some);
                OPENSSL_cleanse(p, some);
                s->secrets -= some;
                if (s->secrets == 0) {
                    code |= qt_tls_log_take(s->log, &s->lines, "\n", 1);
                    qt_tls_lines_end(&s->lines);
                }
            }
            s->left -= some;
            s->has = s->left > 0 ? s->has : 0;
            p += some;
            n -= some;
            continue;
        }
        s->head[s->has++] = (uint8_t)*p++;
        n--;
        if (s->has == wanted(s))
            begin_block(s);
    }
    return code;
}

void qt_pcapng_secrets_end(struct qt_pcapng_secrets *s) { qt_tls_lines_end(&s->lines); }

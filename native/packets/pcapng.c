/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   block            type, length | ... | length
 *   section header   0x0A0D0D0A, length, byte order 0x1A2B3C4D, ...
 *   interface        1, length, link type in 2 bytes, 2 zeros, snapshot length, ...
 *   packet           6 | 2, length, interface (2: in 2 bytes), ... | 3, length, ...: of the first interface
 *   secrets          10, length, type of secrets, their length, secrets, options
 */
#include "packets/pcapng.h"

#include <openssl/crypto.h>
#include <string.h>

enum { INTERFACE = 1, OLD_PACKET = 2, SIMPLE_PACKET = 3, PACKET = 6 };
enum { ETHERNET = 1, LINK_AT = 8, SNAPLEN_AT = 12, LARGEST_SNAPLEN = 1 << 24 };
enum { SECTION = 0x0A0D0D0A, SECRETS = 10, TLS_KEY_LOG = 0x544C534B, BYTE_ORDER_MAGIC = 0x1A2B3C4D, SMALLEST = 12 };

static uint32_t number(const struct qt_pcapng *s, size_t at)
{
    const uint8_t *p = s->head + at;
    return s->big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                  : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* How many bytes of a block must be at hand before it is known what it is. */
static size_t wanted(const struct qt_pcapng *s)
{
    if (s->has < 8)
        return 8;
    uint32_t type = number(s, 0);
    switch (type) {
    case SECRETS:
    case INTERFACE:
        return 16;
    case SECTION:
    case PACKET:
    case OLD_PACKET:
        return 12;
    default:
        return 8;
    }
}

/* Two bytes. */
static uint16_t short_number(const struct qt_pcapng *s, size_t at)
{
    const uint8_t *p = s->head + at;
    return (uint16_t)(s->big ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}

static void add_interface(struct qt_pcapng *s)
{
    uint16_t link = short_number(s, LINK_AT);
    if (s->n_interfaces < QT_PCAPNG_INTERFACES)
        s->interfaces[s->n_interfaces++] = link;
}

static void add_packet(struct qt_pcapng *s, uint32_t interface)
{
    uint16_t link = interface < s->n_interfaces ? s->interfaces[interface] : ETHERNET;
    s->ahead[s->n_packets++ % QT_PCAPNG_AHEAD] = link;
}

/* The byte of an interface's head as libpcap sees it: Ethernet, a large snapshot length. */
static char level(const struct qt_pcapng *s, size_t at, char byte)
{
    if (at >= SNAPLEN_AT && at < SNAPLEN_AT + 4)
        return (char)(LARGEST_SNAPLEN >> 8 * (s->big ? SNAPLEN_AT + 3 - at : at - SNAPLEN_AT));
    if (at >= LINK_AT && at < LINK_AT + 2)
        return (char)(ETHERNET >> 8 * (s->big ? LINK_AT + 1 - at : at - LINK_AT));
    return byte;
}

/* The head is whole. */
static void begin_block(struct qt_pcapng *s)
{
    uint32_t type = number(s, 0);
    s->off = s->off || (!s->began && type != SECTION);
    s->began = 1;
    if (type == SECTION) {
        s->big = 0;
        s->big = number(s, 8) != BYTE_ORDER_MAGIC;
        s->off = s->off || number(s, 8) != BYTE_ORDER_MAGIC;
        s->n_interfaces = 0;
    }
    if (type == INTERFACE)
        add_interface(s);
    else if (type == PACKET || type == OLD_PACKET || type == SIMPLE_PACKET)
        add_packet(s, type == PACKET ? number(s, 8) : type == OLD_PACKET ? short_number(s, 8) : 0);
    uint64_t length = ((uint64_t)number(s, 4) + 3) / 4 * 4;
    if (length < SMALLEST || length <= s->has) {
        s->off = 1;
        return;
    }
    s->left = length - s->has;
    s->secrets = type == SECRETS && number(s, 8) == TLS_KEY_LOG ? number(s, 12) : 0;
    s->off = s->off || s->secrets > s->left;
}

int qt_pcapng_follow(struct qt_pcapng *s, char *p, size_t n)
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
        s->head[s->has] = (uint8_t)*p;
        if (s->has >= 8 && number(s, 0) == INTERFACE)
            *p = level(s, s->has, *p);
        s->has++;
        p++;
        n--;
        if (s->has == wanted(s))
            begin_block(s);
    }
    return code;
}

int qt_pcapng_take_link(struct qt_pcapng *s, int otherwise)
{
    if (s->log == NULL || !s->began || s->taken >= s->n_packets || s->n_packets - s->taken > QT_PCAPNG_AHEAD)
        return otherwise;
    return s->ahead[s->taken++ % QT_PCAPNG_AHEAD];
}

void qt_pcapng_end(struct qt_pcapng *s) { qt_tls_lines_end(&s->lines); }

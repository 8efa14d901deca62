/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   link layer -> [tags, tunnels: peel.c]... -> IPv4 [options] | IPv6 [extensions] -> [tunnels]... -> TCP -> payload
 */
#include "packets/frame.h"

#include <pcap/dlt.h>
#include <string.h>

#include "packets/peel.h"

enum { IP6_HOP = 0, IP6_ROUTING = 43, IP6_FRAGMENT = 44, IP6_DESTINATION = 60, IP6_AUTH = 51, MOST_LAYERS = 48 };

static int tcp(struct qt_peel *s)
{
    struct qt_segment *out = &s->out->segment;
    if (s->len < 20)
        return QT_FRAME_CUT;
    size_t header = (size_t)(s->p[12] >> 4) * 4;
    out->from.port = (uint16_t)qt_be16(s->p);
    out->to.port = (uint16_t)qt_be16(s->p + 2);
    out->seq = qt_be32(s->p + 4);
    out->ack = qt_be32(s->p + 8);
    out->flags = s->p[13];
    if (header < 20 || header > s->sent)
        return QT_FRAME_BAD;
    if (!qt_peel_skip(s, header))
        return QT_FRAME_CUT;
    out->payload = s->p;
    out->len = s->len;
    out->sent_len = s->sent;
    return QT_FRAME_TCP;
}

/* Takes what follows the IP packet (padding of short frames) away. */
static int cut_to(struct qt_peel *s, size_t total)
{
    if (total > s->sent)
        return 0;
    s->sent = total;
    if (s->len > total)
        s->len = total;
    return 1;
}

static int fragment(struct qt_peel *s, uint32_t id, size_t offset, int more)
{
    s->out->fragment = (struct qt_fragment){(uint8_t)s->type, more, id, offset, s->p, s->len, s->sent};
    int bad = s->sent == 0 || offset + s->sent > 65535 || (more && s->sent % 8 != 0);
    return bad ? QT_FRAME_BAD : QT_FRAME_FRAGMENT;
}

static int ip4(struct qt_peel *s)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    struct qt_segment *out = &s->out->segment;
    if (s->len < 20)
        return QT_FRAME_CUT;
    const uint8_t *p = s->p;
    size_t header = (size_t)(p[0] & 15) * 4, total = qt_be16(p + 2);
    if (p[0] >> 4 != 4 || header < 20)
        return QT_FRAME_BAD;
    memcpy(out->from.ip, mapped, 12);
    memcpy(out->from.ip + 12, p + 12, 4);
    memcpy(out->to.ip, mapped, 12);
    memcpy(out->to.ip + 12, p + 16, 4);
    s->type = p[9];
    s->next = QT_LAYER_PROTOCOL;
    if (total != 0 && (total < header || !cut_to(s, total))) /* 0: segmentation offload writes no length */
        return QT_FRAME_BAD;
    if (!qt_peel_skip(s, header))
        return QT_FRAME_CUT;
    uint32_t bits = qt_be16(p + 6);
    if (bits & 0x3FFF) /* more fragments, or an offset */
        return fragment(s, qt_be16(p + 4), (size_t)(bits & 0x1FFF) * 8, (bits & 0x2000) != 0);
    return QT_PEEL_ON;
}

static int ip6(struct qt_peel *s)
{
    struct qt_segment *out = &s->out->segment;
    if (s->len < 40)
        return QT_FRAME_CUT;
    if (s->p[0] >> 4 != 6)
        return QT_FRAME_BAD;
    size_t payload = qt_be16(s->p + 4);
    s->type = s->p[6];
    memcpy(out->from.ip, s->p + 8, 16);
    memcpy(out->to.ip, s->p + 24, 16);
    qt_peel_skip(s, 40);
    if (payload != 0 && !cut_to(s, payload)) /* 0: jumbo or offload */
        return QT_FRAME_BAD;
    s->next = QT_LAYER_EXTENSIONS;
    return QT_PEEL_ON;
}

/* Those of IPv6, up to what it carries. */
static int extensions(struct qt_peel *s)
{
    for (int n = 0; n < 16; n++) {
        int next = (int)s->type;
        if (next != IP6_HOP && next != IP6_ROUTING && next != IP6_DESTINATION && next != IP6_AUTH &&
            next != IP6_FRAGMENT) {
            s->next = QT_LAYER_PROTOCOL;
            return QT_PEEL_ON;
        }
        if (s->len < 8)
            return QT_FRAME_CUT;
        const uint8_t *p = s->p;
        uint32_t bits = qt_be16(p + 2);
        size_t length = next == IP6_FRAGMENT ? 8 : next == IP6_AUTH ? ((size_t)p[1] + 2) * 4 : ((size_t)p[1] + 1) * 8;
        s->type = p[0];
        if (!qt_peel_skip(s, length))
            return QT_FRAME_CUT;
        if (next == IP6_FRAGMENT && bits & 0xFFF9) /* neither: the packet is whole in this one */
            return fragment(s, qt_be32(p + 4), (size_t)(bits & 0xFFF8), bits & 1);
    }
    return QT_FRAME_BAD;
}

static int by_version(struct qt_peel *s)
{
    if (s->len < 1)
        return QT_FRAME_CUT;
    int version = s->p[0] >> 4;
    return version == 4   ? qt_peel_to(s, 0, QT_LAYER_IP4)
           : version == 6 ? qt_peel_to(s, 0, QT_LAYER_IP6)
                          : QT_FRAME_NOT_IP;
}

static enum qt_frame_kind peel(struct qt_peel *s)
{
    static int (*const layers[QT_LAYERS])(struct qt_peel *) = {
        [QT_LAYER_ETHERNET] = qt_peel_ethernet,
        [QT_LAYER_TYPE] = qt_peel_type,
        [QT_LAYER_VERSION] = by_version,
        [QT_LAYER_IP4] = ip4,
        [QT_LAYER_IP6] = ip6,
        [QT_LAYER_EXTENSIONS] = extensions,
        [QT_LAYER_PROTOCOL] = qt_peel_protocol,
        [QT_LAYER_TCP] = tcp,
        [QT_LAYER_UDP] = qt_peel_udp,
        [QT_LAYER_GRE] = qt_peel_gre,
        [QT_LAYER_MPLS] = qt_peel_mpls,
        [QT_LAYER_PPP] = qt_peel_ppp,
    };
    for (int n = 0; n < MOST_LAYERS; n++) {
        int kind = layers[s->next](s);
        if (kind != QT_PEEL_ON)
            return (enum qt_frame_kind)kind;
    }
    return QT_FRAME_BAD;
}

/* Link layers: bytes of their header, and what follows. `type_at`: where an ether type is, -1 = nowhere. The address
 * family of NULL and LOOP says nothing that the IP version does not: 2, 24, 28, 30 in either byte order. */
static const struct link {
    int number;
    size_t header;
    int type_at;
    enum qt_layer next;
} links[] = {
    {DLT_EN10MB, 0, -1, QT_LAYER_ETHERNET}, {DLT_LINUX_SLL, 16, 14, QT_LAYER_TYPE},
    {DLT_LINUX_SLL2, 20, 0, QT_LAYER_TYPE}, {DLT_NULL, 4, -1, QT_LAYER_VERSION},
    {DLT_LOOP, 4, -1, QT_LAYER_VERSION},    {DLT_RAW, 0, -1, QT_LAYER_VERSION},
    {14, 0, -1, QT_LAYER_VERSION}, /* other systems number DLT_RAW so; 101 is LINKTYPE_RAW */
    {101, 0, -1, QT_LAYER_VERSION},         {DLT_IPV4, 0, -1, QT_LAYER_VERSION},
    {DLT_IPV6, 0, -1, QT_LAYER_VERSION},    {DLT_PPP, 0, -1, QT_LAYER_PPP},
    {DLT_PPP_SERIAL, 0, -1, QT_LAYER_PPP},  {DLT_PPP_ETHER, 6, -1, QT_LAYER_PPP},
    {DLT_C_HDLC, 4, 2, QT_LAYER_TYPE},      {DLT_MPLS, 0, -1, QT_LAYER_MPLS},
};

enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_frame *out)
{
    struct qt_peel s = {p, captured, sent > captured ? sent : captured, QT_LAYERS, 0, out};
    out->tunnels = 0;
    for (size_t i = 0; i < sizeof links / sizeof *links && s.next == QT_LAYERS; i++) {
        const struct link *l = &links[i];
        if (l->number != link)
            continue;
        if (captured < l->header)
            return QT_FRAME_CUT;
        if (l->type_at >= 0)
            s.type = qt_be16(p + l->type_at);
        qt_peel_to(&s, l->header, l->next);
    }
    return s.next == QT_LAYERS ? QT_FRAME_LINK : peel(&s);
}

enum qt_frame_kind qt_frame_parse_payload(uint8_t protocol, const uint8_t *p, size_t captured, size_t sent,
                                          struct qt_frame *out)
{
    struct qt_peel s = {p, captured, sent > captured ? sent : captured, QT_LAYER_EXTENSIONS, protocol, out};
    return peel(&s);
}

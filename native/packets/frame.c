/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   Ethernet [VLAN...] | SLL | SLL2 | NULL/LOOP | RAW  ->  IPv4 [options] | IPv6 [extensions]  ->  TCP  ->  payload
 */
#include "packets/frame.h"

#include <pcap/dlt.h>
#include <string.h>

enum { ETHER_IP4 = 0x0800, ETHER_IP6 = 0x86DD, ETHER_VLAN = 0x8100, ETHER_QINQ = 0x88A8, ETHER_QINQ_OLD = 0x9100 };
enum { IP_TCP = 6, IP6_HOP = 0, IP6_ROUTING = 43, IP6_FRAGMENT = 44, IP6_DESTINATION = 60, IP6_AUTH = 51 };

struct view {
    const uint8_t *p;
    size_t len;  /* captured */
    size_t sent; /* length as sent */
};

static uint32_t be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static uint32_t be32(const uint8_t *p) { return be16(p) << 16 | be16(p + 2); }

static int skip(struct view *v, size_t n)
{
    if (n > v->len)
        return 0;
    v->p += n;
    v->len -= n;
    v->sent = v->sent > n ? v->sent - n : 0;
    return 1;
}

static enum qt_frame_kind tcp(struct view v, struct qt_segment *out)
{
    if (v.len < 20)
        return QT_FRAME_CUT;
    size_t header = (size_t)(v.p[12] >> 4) * 4;
    out->from.port = (uint16_t)be16(v.p);
    out->to.port = (uint16_t)be16(v.p + 2);
    out->seq = be32(v.p + 4);
    out->ack = be32(v.p + 8);
    out->flags = v.p[13];
    if (header < 20 || header > v.sent)
        return QT_FRAME_BAD;
    if (header > v.len)
        return QT_FRAME_CUT;
    skip(&v, header);
    out->payload = v.p;
    out->len = v.len;
    out->sent_len = v.sent;
    return QT_FRAME_TCP;
}

/* Takes what follows the IP packet (padding of short frames) away. */
static int cut_to(struct view *v, size_t total)
{
    if (total > v->sent)
        return 0;
    v->sent = total;
    if (v->len > total)
        v->len = total;
    return 1;
}

static enum qt_frame_kind ip4(struct view v, struct qt_segment *out)
{
    if (v.len < 20)
        return QT_FRAME_CUT;
    size_t header = (size_t)(v.p[0] & 15) * 4, total = be16(v.p + 2);
    if (v.p[0] >> 4 != 4 || header < 20)
        return QT_FRAME_BAD;
    if (v.p[9] != IP_TCP)
        return QT_FRAME_NOT_TCP;
    if (be16(v.p + 6) & 0x3FFF) /* more fragments, or an offset */
        return QT_FRAME_FRAGMENT;
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    memcpy(out->from.ip, mapped, 12);
    memcpy(out->from.ip + 12, v.p + 12, 4);
    memcpy(out->to.ip, mapped, 12);
    memcpy(out->to.ip + 12, v.p + 16, 4);
    if (total != 0 && (total < header || !cut_to(&v, total))) /* 0: segmentation offload writes no length */
        return QT_FRAME_BAD;
    return skip(&v, header) ? tcp(v, out) : QT_FRAME_CUT;
}

static enum qt_frame_kind ip6(struct view v, struct qt_segment *out)
{
    if (v.len < 40)
        return QT_FRAME_CUT;
    if (v.p[0] >> 4 != 6)
        return QT_FRAME_BAD;
    size_t payload = be16(v.p + 4);
    int next = v.p[6];
    memcpy(out->from.ip, v.p + 8, 16);
    memcpy(out->to.ip, v.p + 24, 16);
    skip(&v, 40);
    if (payload != 0 && !cut_to(&v, payload)) /* 0: jumbo or offload */
        return QT_FRAME_BAD;
    for (int n = 0; n < 16; n++) {
        if (next == IP_TCP)
            return tcp(v, out);
        if (next == IP6_FRAGMENT)
            return QT_FRAME_FRAGMENT;
        if (next != IP6_HOP && next != IP6_ROUTING && next != IP6_DESTINATION && next != IP6_AUTH)
            return QT_FRAME_NOT_TCP;
        if (v.len < 8)
            return QT_FRAME_CUT;
        size_t length = next == IP6_AUTH ? ((size_t)v.p[1] + 2) * 4 : ((size_t)v.p[1] + 1) * 8;
        next = v.p[0];
        if (!skip(&v, length))
            return QT_FRAME_CUT;
    }
    return QT_FRAME_BAD;
}

static enum qt_frame_kind by_version(struct view v, struct qt_segment *out)
{
    if (v.len < 1)
        return QT_FRAME_CUT;
    return v.p[0] >> 4 == 4 ? ip4(v, out) : v.p[0] >> 4 == 6 ? ip6(v, out) : QT_FRAME_NOT_IP;
}

static enum qt_frame_kind by_type(uint32_t type, struct view v, struct qt_segment *out)
{
    for (int tags = 0; tags < 4 && (type == ETHER_VLAN || type == ETHER_QINQ || type == ETHER_QINQ_OLD); tags++) {
        if (v.len < 4)
            return QT_FRAME_CUT;
        type = be16(v.p + 2);
        skip(&v, 4);
    }
    return type == ETHER_IP4 ? ip4(v, out) : type == ETHER_IP6 ? ip6(v, out) : QT_FRAME_NOT_IP;
}

/* The address family of NULL and LOOP says nothing that the IP version does not: 2, 24, 28, 30 in either byte order. */
enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_segment *out)
{
    struct view v = {p, captured, sent > captured ? sent : captured};
    uint32_t type = 0;
    switch (link) {
    case DLT_EN10MB:
        if (v.len < 14)
            return QT_FRAME_CUT;
        type = be16(p + 12);
        skip(&v, 14);
        return by_type(type, v, out);
    case DLT_LINUX_SLL:
        if (v.len < 16)
            return QT_FRAME_CUT;
        type = be16(p + 14);
        skip(&v, 16);
        return by_type(type, v, out);
    case DLT_LINUX_SLL2:
        if (v.len < 20)
            return QT_FRAME_CUT;
        type = be16(p);
        skip(&v, 20);
        return by_type(type, v, out);
    case DLT_NULL:
    case DLT_LOOP:
        return skip(&v, 4) ? by_version(v, out) : QT_FRAME_CUT;
    case DLT_RAW:
    case 14: /* other systems number DLT_RAW so; 101 is LINKTYPE_RAW */
    case 101:
    case DLT_IPV4:
    case DLT_IPV6:
        return by_version(v, out);
    default:
        return QT_FRAME_LINK;
    }
}

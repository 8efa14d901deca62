/* SPDX-License-Identifier: Apache-2.0 */
/* Each layer removes its header and selects the next layer.
 *
 *   link layer -> [tags, tunnels]... -> IPv4 [options] | IPv6 [extensions] -> [tunnels]... -> TCP -> payload
 *
 *   ether types     VLAN (Q, QinQ), VN tag, PBB, SNAP, PPPoE, MPLS, IPv4, IPv6, bridged Ethernet, ERSPAN
 *   IP protocols    TCP, UDP, IP in IP, GRE, MPLS in IP, Ethernet in IP
 *   UDP ports       VXLAN, VXLAN-GPE, GENEVE, GRE in UDP, MPLS in UDP
 *
 * IEEE 802.1, RFC 2516, 2784, 3032, 4023, 7348, 7510, 8086, 8926, draft-foschiano-erspan, draft-ietf-nvo3-vxlan-gpe. */
#include "packets/frame.h"

#include <pcap/dlt.h>
#include <string.h>

enum layer {
    LAYER_ETHERNET,
    LAYER_TYPE,    /* the layer of the ether type in `type` */
    LAYER_VERSION, /* IPv4 or IPv6 */
    LAYER_IP4,
    LAYER_IP6,
    LAYER_EXTENSIONS,
    LAYER_PROTOCOL, /* the layer of the IP protocol in `type` */
    LAYER_TCP,
    LAYER_UDP,
    LAYER_GRE,
    LAYER_MPLS,
    LAYER_PPP,
    LAYERS
};

enum { PEEL_ON = -1 };

struct peel {
    const uint8_t *p;
    size_t len;  /* captured length */
    size_t sent; /* length of the frame as sent */
    enum layer next;
    uint32_t type;
    struct qt_frame *out;
};

static uint32_t get_be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static uint32_t get_be32(const uint8_t *p) { return get_be16(p) << 16 | get_be16(p + 2); }

/* Removes n bytes. Returns 0 if fewer than n bytes were captured. */
static int peel_skip(struct peel *s, size_t n)
{
    if (n > s->len)
        return 0;
    s->p += n;
    s->len -= n;
    s->sent = s->sent > n ? s->sent - n : 0;
    return 1;
}

/* Removes n bytes and continues with the next layer. */
static int peel_to(struct peel *s, size_t n, enum layer next)
{
    s->next = next;
    return peel_skip(s, n) ? PEEL_ON : QT_FRAME_CUT;
}

enum { PPP_IP4 = 0x0021, PPP_IP6 = 0x0057, PPP_MPLS = 0x0281, SNAP_MOST = 1500 };

static void note(struct peel *s, enum qt_tunnel tunnel) { s->out->tunnels |= UINT32_C(1) << tunnel; }

/* ---- ether types ---- */

/* A header in front of the next header. Its length is `skip` bytes. If `next` is LAYER_TYPE, the last two bytes of this
 * header are the next ether type. */
struct step {
    uint32_t number;
    size_t skip;
    enum layer next;
    int tunnel; /* enum qt_tunnel, or -1 */
};

static const struct step ether_types[] = {
    {0x0800, 0, LAYER_IP4, -1},
    {0x86DD, 0, LAYER_IP6, -1},
    {0x8100, 4, LAYER_TYPE, -1}, /* VLAN tags */
    {0x88A8, 4, LAYER_TYPE, -1},
    {0x9100, 4, LAYER_TYPE, -1},
    {0x9200, 4, LAYER_TYPE, -1},
    {0x8926, 6, LAYER_TYPE, -1},     /* VN tag */
    {0x88E7, 4, LAYER_ETHERNET, -1}, /* provider backbone bridge (PBB) */
    {0x8847, 0, LAYER_MPLS, QT_TUNNEL_MPLS},
    {0x8848, 0, LAYER_MPLS, QT_TUNNEL_MPLS},
    {0x8864, 6, LAYER_PPP, QT_TUNNEL_PPPOE},
    {0x880B, 0, LAYER_PPP, -1},      /* inside GRE: PPTP */
    {0x6558, 0, LAYER_ETHERNET, -1}, /* inside GRE and GENEVE: bridged Ethernet */
};

static int step(struct peel *s, const struct step *to)
{
    if (to->tunnel >= 0)
        note(s, (enum qt_tunnel)to->tunnel);
    if (s->len < to->skip)
        return QT_FRAME_CUT;
    if (to->next == LAYER_TYPE)
        s->type = get_be16(s->p + to->skip - 2);
    return peel_to(s, to->skip, to->next);
}

/* Removes an ERSPAN header. Type I has no header, type II has 8 bytes, and type III has 12 or 20 bytes. `numbered` is
 * set if the GRE header has a sequence number. Type I has no sequence number. */
static int peel_erspan(struct peel *s, int third, int numbered)
{
    note(s, QT_TUNNEL_ERSPAN);
    if (!third)
        return peel_to(s, numbered ? 8 : 0, LAYER_ETHERNET);
    if (s->len < 12)
        return QT_FRAME_CUT;
    int is_ip = (s->p[10] >> 2 & 31) == 2;
    return peel_to(s, s->p[11] & 1 ? 20 : 12, is_ip ? LAYER_VERSION : LAYER_ETHERNET);
}

static int peel_type(struct peel *s)
{
    for (size_t i = 0; i < sizeof ether_types / sizeof *ether_types; i++)
        if (ether_types[i].number == s->type)
            return step(s, &ether_types[i]);
    if (s->type <= SNAP_MOST) { /* a length: LLC follows, possibly with SNAP */
        if (s->len < 8)
            return QT_FRAME_CUT;
        if (s->p[0] != 0xAA || s->p[1] != 0xAA)
            return QT_FRAME_NOT_IP;
        s->type = get_be16(s->p + 6);
        return s->type > SNAP_MOST ? peel_to(s, 8, LAYER_TYPE) : QT_FRAME_NOT_IP;
    }
    if (s->type == 0x88E5)
        note(s, QT_TUNNEL_MACSEC);
    return QT_FRAME_NOT_IP;
}

static int peel_ethernet(struct peel *s)
{
    if (s->len < 14)
        return QT_FRAME_CUT;
    s->type = get_be16(s->p + 12);
    return peel_to(s, 14, LAYER_TYPE);
}

/* ---- IP protocols ---- */

static int peel_protocol(struct peel *s)
{
    static const struct step protocols[] = {
        {6, 0, LAYER_TCP, -1},
        {17, 0, LAYER_UDP, -1},
        {4, 0, LAYER_IP4, QT_TUNNEL_IP},
        {41, 0, LAYER_IP6, QT_TUNNEL_IP},
        {47, 0, LAYER_GRE, QT_TUNNEL_GRE},
        {97, 2, LAYER_ETHERNET, QT_TUNNEL_IP},
        {137, 0, LAYER_MPLS, QT_TUNNEL_MPLS},
    };
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (protocols[i].number == s->type)
            return step(s, &protocols[i]);
    if (s->type == 50)
        note(s, QT_TUNNEL_IPSEC);
    else if (s->type == 115)
        note(s, QT_TUNNEL_L2TP);
    return QT_FRAME_NOT_TCP;
}

/* ---- UDP ---- */

/* Removes a VXLAN header. `gpe`: the header is VXLAN-GPE and names the next protocol, which may not be Ethernet. */
static int peel_vxlan(struct peel *s, int gpe)
{
    if (s->len < 8)
        return QT_FRAME_CUT;
    if (!(s->p[0] & 8)) /* no network identifier: another protocol uses this port */
        return QT_FRAME_NOT_TCP;
    note(s, QT_TUNNEL_VXLAN);
    int next = gpe && s->p[0] & 4 ? s->p[3] : 3;
    return next == 3   ? peel_to(s, 8, LAYER_ETHERNET)
           : next == 1 ? peel_to(s, 8, LAYER_IP4)
           : next == 2 ? peel_to(s, 8, LAYER_IP6)
           : next == 5 ? peel_to(s, 8, LAYER_MPLS)
                       : QT_FRAME_NOT_TCP;
}

static int peel_geneve(struct peel *s)
{
    if (s->len < 8)
        return QT_FRAME_CUT;
    if (s->p[0] >> 6 != 0)
        return QT_FRAME_NOT_TCP;
    note(s, QT_TUNNEL_GENEVE);
    s->type = get_be16(s->p + 2);
    return peel_to(s, 8 + (size_t)(s->p[0] & 63) * 4, LAYER_TYPE);
}

static int peel_udp(struct peel *s)
{
    if (s->len < 8)
        return QT_FRAME_CUT;
    uint32_t port = get_be16(s->p + 2);
    peel_skip(s, 8);
    switch (port) {
    case 4789:
    case 8472: /* used by Linux before IANA assigned 4789 */
        return peel_vxlan(s, 0);
    case 4790:
        return peel_vxlan(s, 1);
    case 6081:
        return peel_geneve(s);
    case 4754:
        note(s, QT_TUNNEL_GRE);
        return peel_to(s, 0, LAYER_GRE);
    case 6635:
        note(s, QT_TUNNEL_MPLS);
        return peel_to(s, 0, LAYER_MPLS);
    case 4500:
        note(s, QT_TUNNEL_IPSEC);
        return QT_FRAME_NOT_TCP;
    case 1701:
        note(s, QT_TUNNEL_L2TP);
        return QT_FRAME_NOT_TCP;
    default:
        return QT_FRAME_NOT_TCP;
    }
}

/* ---- GRE, MPLS, PPP ---- */

static int peel_gre(struct peel *s)
{
    enum { CHECKSUM = 0x8000, ROUTING = 0x4000, KEY = 0x2000, SEQUENCE = 0x1000, ACK = 0x0080 };
    if (s->len < 4)
        return QT_FRAME_CUT;
    uint32_t flags = get_be16(s->p), version = flags & 7;
    s->type = get_be16(s->p + 2);
    if (version > 1 || flags & ROUTING)
        return QT_FRAME_NOT_TCP;
    size_t header = 4 + (flags & CHECKSUM ? 4u : 0) + (flags & KEY ? 4u : 0) + (flags & SEQUENCE ? 4u : 0) +
                    (version == 1 && flags & ACK ? 4u : 0);
    if (!peel_skip(s, header))
        return QT_FRAME_CUT;
    if (version == 1 && s->len == 0) /* PPTP acknowledgement without payload */
        return QT_FRAME_NOT_TCP;
    if (s->type == 0x88BE || s->type == 0x22EB)
        return peel_erspan(s, s->type == 0x22EB, (flags & SEQUENCE) != 0);
    return peel_to(s, 0, LAYER_TYPE);
}

/* Removes the MPLS labels. The last label is followed by IP, or by Ethernet with or without a control word. The first
 * four bits of a control word are 0. */
static int peel_mpls(struct peel *s)
{
    for (int labels = 0, last = 0; !last; labels++) {
        if (s->len < 4)
            return QT_FRAME_CUT;
        if (labels == 16)
            return QT_FRAME_BAD;
        last = s->p[2] & 1;
        peel_skip(s, 4);
    }
    if (s->len < 1)
        return QT_FRAME_CUT;
    int first = s->p[0] >> 4;
    return first == 4 || first == 6 ? peel_to(s, 0, LAYER_VERSION) : peel_to(s, first == 0 ? 4 : 0, LAYER_ETHERNET);
}

/* Removes a PPP header. The sender may omit the address and control bytes, and the first byte of the protocol if that
 * byte is 0. */
static int peel_ppp(struct peel *s)
{
    if (s->len >= 2 && s->p[0] == 0xFF && s->p[1] == 3)
        peel_skip(s, 2);
    if (s->len < 2)
        return QT_FRAME_CUT;
    uint32_t protocol = s->p[0] & 1 ? s->p[0] : get_be16(s->p);
    size_t header = s->p[0] & 1 ? 1 : 2;
    return protocol == PPP_IP4    ? peel_to(s, header, LAYER_IP4)
           : protocol == PPP_IP6  ? peel_to(s, header, LAYER_IP6)
           : protocol == PPP_MPLS ? peel_to(s, header, LAYER_MPLS)
                                  : QT_FRAME_NOT_IP;
}

/* ---- IP and TCP ---- */

enum { IP6_HOP = 0, IP6_ROUTING = 43, IP6_FRAGMENT = 44, IP6_DESTINATION = 60, IP6_AUTH = 51, MOST_LAYERS = 48 };

static int peel_tcp(struct peel *s)
{
    struct qt_segment *out = &s->out->segment;
    if (s->len < 20)
        return QT_FRAME_CUT;
    size_t header = (size_t)(s->p[12] >> 4) * 4;
    out->from.port = (uint16_t)get_be16(s->p);
    out->to.port = (uint16_t)get_be16(s->p + 2);
    out->seq = get_be32(s->p + 4);
    out->ack = get_be32(s->p + 8);
    out->flags = s->p[13];
    if (header < 20 || header > s->sent)
        return QT_FRAME_BAD;
    if (!peel_skip(s, header))
        return QT_FRAME_CUT;
    out->payload = s->p;
    out->len = s->len;
    out->sent_len = s->sent;
    return QT_FRAME_TCP;
}

/* Removes the bytes after the IP packet, such as the padding of short frames. */
static int cut_to(struct peel *s, size_t total)
{
    if (total > s->sent)
        return 0;
    s->sent = total;
    if (s->len > total)
        s->len = total;
    return 1;
}

static int fragment(struct peel *s, uint32_t id, size_t offset, int more)
{
    s->out->fragment = (struct qt_fragment){(uint8_t)s->type, more, id, offset, s->p, s->len, s->sent};
    int bad = s->sent == 0 || offset + s->sent > 65535 || (more && s->sent % 8 != 0);
    return bad ? QT_FRAME_BAD : QT_FRAME_FRAGMENT;
}

static int peel_ip4(struct peel *s)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    struct qt_segment *out = &s->out->segment;
    if (s->len < 20)
        return QT_FRAME_CUT;
    const uint8_t *p = s->p;
    size_t header = (size_t)(p[0] & 15) * 4, total = get_be16(p + 2);
    if (p[0] >> 4 != 4 || header < 20)
        return QT_FRAME_BAD;
    memcpy(out->from.ip, mapped, 12);
    memcpy(out->from.ip + 12, p + 12, 4);
    memcpy(out->to.ip, mapped, 12);
    memcpy(out->to.ip + 12, p + 16, 4);
    s->type = p[9];
    s->next = LAYER_PROTOCOL;
    if (total != 0 && (total < header || !cut_to(s, total))) /* 0: segmentation offload leaves the IP length empty */
        return QT_FRAME_BAD;
    if (!peel_skip(s, header))
        return QT_FRAME_CUT;
    uint32_t bits = get_be16(p + 6);
    if (bits & 0x3FFF) /* more fragments follow, or the offset is not 0 */
        return fragment(s, get_be16(p + 4), (size_t)(bits & 0x1FFF) * 8, (bits & 0x2000) != 0);
    return PEEL_ON;
}

static int peel_ip6(struct peel *s)
{
    struct qt_segment *out = &s->out->segment;
    if (s->len < 40)
        return QT_FRAME_CUT;
    if (s->p[0] >> 4 != 6)
        return QT_FRAME_BAD;
    size_t payload = get_be16(s->p + 4);
    s->type = s->p[6];
    memcpy(out->from.ip, s->p + 8, 16);
    memcpy(out->to.ip, s->p + 24, 16);
    peel_skip(s, 40);
    if (payload != 0 && !cut_to(s, payload)) /* 0: jumbogram or segmentation offload */
        return QT_FRAME_BAD;
    s->next = LAYER_EXTENSIONS;
    return PEEL_ON;
}

/* Removes the IPv6 extension headers. */
static int peel_extensions(struct peel *s)
{
    for (int n = 0; n < 16; n++) {
        int next = (int)s->type;
        if (next != IP6_HOP && next != IP6_ROUTING && next != IP6_DESTINATION && next != IP6_AUTH &&
            next != IP6_FRAGMENT) {
            s->next = LAYER_PROTOCOL;
            return PEEL_ON;
        }
        if (s->len < 8)
            return QT_FRAME_CUT;
        const uint8_t *p = s->p;
        uint32_t bits = get_be16(p + 2);
        size_t length = next == IP6_FRAGMENT ? 8 : next == IP6_AUTH ? ((size_t)p[1] + 2) * 4 : ((size_t)p[1] + 1) * 8;
        s->type = p[0];
        if (!peel_skip(s, length))
            return QT_FRAME_CUT;
        if (next == IP6_FRAGMENT && bits & 0xFFF9) /* otherwise, a single fragment contains the whole packet */
            return fragment(s, get_be32(p + 4), (size_t)(bits & 0xFFF8), bits & 1);
    }
    return QT_FRAME_BAD;
}

static int peel_version(struct peel *s)
{
    if (s->len < 1)
        return QT_FRAME_CUT;
    int version = s->p[0] >> 4;
    return version == 4 ? peel_to(s, 0, LAYER_IP4) : version == 6 ? peel_to(s, 0, LAYER_IP6) : QT_FRAME_NOT_IP;
}

static enum qt_frame_kind peel_all(struct peel *s)
{
    static int (*const layers[LAYERS])(struct peel *) = {
        [LAYER_ETHERNET] = peel_ethernet, [LAYER_TYPE] = peel_type, [LAYER_VERSION] = peel_version,
        [LAYER_IP4] = peel_ip4,           [LAYER_IP6] = peel_ip6,   [LAYER_EXTENSIONS] = peel_extensions,
        [LAYER_PROTOCOL] = peel_protocol, [LAYER_TCP] = peel_tcp,   [LAYER_UDP] = peel_udp,
        [LAYER_GRE] = peel_gre,           [LAYER_MPLS] = peel_mpls, [LAYER_PPP] = peel_ppp,
    };
    for (int n = 0; n < MOST_LAYERS; n++) {
        int kind = layers[s->next](s);
        if (kind != PEEL_ON)
            return (enum qt_frame_kind)kind;
    }
    return QT_FRAME_BAD;
}

/* Link layers: the length of their header and the next layer. `type_at` is the offset of the ether type, -1 = none.
 * NULL and LOOP headers contain an address family (2, 24, 28, 30 in either byte order). The address family is ignored,
 * because the IP version contains the same information. */
static const struct link {
    int number;
    size_t header;
    int type_at;
    enum layer next;
} links[] = {
    {DLT_EN10MB, 0, -1, LAYER_ETHERNET}, {DLT_LINUX_SLL, 16, 14, LAYER_TYPE}, {DLT_LINUX_SLL2, 20, 0, LAYER_TYPE},
    {DLT_NULL, 4, -1, LAYER_VERSION},    {DLT_LOOP, 4, -1, LAYER_VERSION},    {DLT_RAW, 0, -1, LAYER_VERSION},
    {14, 0, -1, LAYER_VERSION}, /* DLT_RAW of other systems (101 is LINKTYPE_RAW) */
    {101, 0, -1, LAYER_VERSION},         {DLT_IPV4, 0, -1, LAYER_VERSION},    {DLT_IPV6, 0, -1, LAYER_VERSION},
    {DLT_PPP, 0, -1, LAYER_PPP},         {DLT_PPP_SERIAL, 0, -1, LAYER_PPP},  {DLT_PPP_ETHER, 6, -1, LAYER_PPP},
    {DLT_C_HDLC, 4, 2, LAYER_TYPE},      {DLT_MPLS, 0, -1, LAYER_MPLS},
};

enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_frame *out)
{
    struct peel s = {p, captured, sent > captured ? sent : captured, LAYERS, 0, out};
    out->tunnels = 0;
    for (size_t i = 0; i < sizeof links / sizeof *links && s.next == LAYERS; i++) {
        const struct link *l = &links[i];
        if (l->number != link)
            continue;
        if (captured < l->header)
            return QT_FRAME_CUT;
        if (l->type_at >= 0)
            s.type = get_be16(p + l->type_at);
        peel_to(&s, l->header, l->next);
    }
    return s.next == LAYERS ? QT_FRAME_LINK : peel_all(&s);
}

enum qt_frame_kind qt_frame_parse_payload(uint8_t protocol, const uint8_t *p, size_t captured, size_t sent,
                                          struct qt_frame *out)
{
    struct peel s = {p, captured, sent > captured ? sent : captured, LAYER_EXTENSIONS, protocol, out};
    return peel_all(&s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   ether types     VLAN (Q, QinQ), VN tag, PBB, SNAP, PPPoE, MPLS, IPv4, IPv6, bridged Ethernet, ERSPAN
 *   IP protocols    TCP, UDP, IP in IP, GRE, MPLS in IP, Ethernet in IP
 *   UDP ports       VXLAN, VXLAN-GPE, GENEVE, GRE in UDP, MPLS in UDP
 *
 * IEEE 802.1, RFC 2516, 2784, 3032, 4023, 7348, 7510, 8086, 8926, draft-foschiano-erspan, draft-ietf-nvo3-vxlan-gpe.
 */
#include "packets/peel.h"

enum { PPP_IP4 = 0x0021, PPP_IP6 = 0x0057, PPP_MPLS = 0x0281, SNAP_MOST = 1500 };

static void note(struct qt_peel *s, enum qt_tunnel tunnel) { s->out->tunnels |= UINT32_C(1) << tunnel; }

/* ---- what an ether type says ---- */

/* What comes before the next header: `skip` bytes, the last two of them its ether type where `next` is TYPE. */
struct step {
    uint32_t number;
    size_t skip;
    enum qt_layer next;
    int tunnel; /* enum qt_tunnel, or -1 */
};

static const struct step ether_types[] = {
    {0x0800, 0, QT_LAYER_IP4, -1},
    {0x86DD, 0, QT_LAYER_IP6, -1},
    {0x8100, 4, QT_LAYER_TYPE, -1}, /* VLAN tags */
    {0x88A8, 4, QT_LAYER_TYPE, -1},
    {0x9100, 4, QT_LAYER_TYPE, -1},
    {0x9200, 4, QT_LAYER_TYPE, -1},
    {0x8926, 6, QT_LAYER_TYPE, -1},     /* VN tag */
    {0x88E7, 4, QT_LAYER_ETHERNET, -1}, /* a provider's backbone bridge */
    {0x8847, 0, QT_LAYER_MPLS, QT_TUNNEL_MPLS},
    {0x8848, 0, QT_LAYER_MPLS, QT_TUNNEL_MPLS},
    {0x8864, 6, QT_LAYER_PPP, QT_TUNNEL_PPPOE},
    {0x880B, 0, QT_LAYER_PPP, -1},      /* in GRE: PPTP */
    {0x6558, 0, QT_LAYER_ETHERNET, -1}, /* in GRE and GENEVE: bridged */
};

static int step(struct qt_peel *s, const struct step *to)
{
    if (to->tunnel >= 0)
        note(s, (enum qt_tunnel)to->tunnel);
    if (s->len < to->skip)
        return QT_FRAME_CUT;
    if (to->next == QT_LAYER_TYPE)
        s->type = qt_be16(s->p + to->skip - 2);
    return qt_peel_to(s, to->skip, to->next);
}

/* ERSPAN: type I has no header, II one of 8 bytes, III one of 12 with perhaps 8 more. `numbered`: GRE has a sequence,
 * which type I has not. */
static int peel_erspan(struct qt_peel *s, int third, int numbered)
{
    note(s, QT_TUNNEL_ERSPAN);
    if (!third)
        return qt_peel_to(s, numbered ? 8 : 0, QT_LAYER_ETHERNET);
    if (s->len < 12)
        return QT_FRAME_CUT;
    int is_ip = (s->p[10] >> 2 & 31) == 2;
    return qt_peel_to(s, s->p[11] & 1 ? 20 : 12, is_ip ? QT_LAYER_VERSION : QT_LAYER_ETHERNET);
}

int qt_peel_type(struct qt_peel *s)
{
    for (size_t i = 0; i < sizeof ether_types / sizeof *ether_types; i++)
        if (ether_types[i].number == s->type)
            return step(s, &ether_types[i]);
    if (s->type <= SNAP_MOST) { /* a length: what follows is LLC, with SNAP perhaps */
        if (s->len < 8)
            return QT_FRAME_CUT;
        if (s->p[0] != 0xAA || s->p[1] != 0xAA)
            return QT_FRAME_NOT_IP;
        s->type = qt_be16(s->p + 6);
        return s->type > SNAP_MOST ? qt_peel_to(s, 8, QT_LAYER_TYPE) : QT_FRAME_NOT_IP;
    }
    if (s->type == 0x88E5)
        note(s, QT_TUNNEL_MACSEC);
    return QT_FRAME_NOT_IP;
}

int qt_peel_ethernet(struct qt_peel *s)
{
    if (s->len < 14)
        return QT_FRAME_CUT;
    s->type = qt_be16(s->p + 12);
    return qt_peel_to(s, 14, QT_LAYER_TYPE);
}

/* ---- what an IP protocol says ---- */

int qt_peel_protocol(struct qt_peel *s)
{
    static const struct step protocols[] = {
        {6, 0, QT_LAYER_TCP, -1},
        {17, 0, QT_LAYER_UDP, -1},
        {4, 0, QT_LAYER_IP4, QT_TUNNEL_IP},
        {41, 0, QT_LAYER_IP6, QT_TUNNEL_IP},
        {47, 0, QT_LAYER_GRE, QT_TUNNEL_GRE},
        {97, 2, QT_LAYER_ETHERNET, QT_TUNNEL_IP},
        {137, 0, QT_LAYER_MPLS, QT_TUNNEL_MPLS},
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

/* `gpe`: the header names what follows; it may not be Ethernet. */
static int peel_vxlan(struct qt_peel *s, int gpe)
{
    if (s->len < 8)
        return QT_FRAME_CUT;
    if (!(s->p[0] & 8)) /* it has no network: another protocol on this port */
        return QT_FRAME_NOT_TCP;
    note(s, QT_TUNNEL_VXLAN);
    int next = gpe && s->p[0] & 4 ? s->p[3] : 3;
    return next == 3   ? qt_peel_to(s, 8, QT_LAYER_ETHERNET)
           : next == 1 ? qt_peel_to(s, 8, QT_LAYER_IP4)
           : next == 2 ? qt_peel_to(s, 8, QT_LAYER_IP6)
           : next == 5 ? qt_peel_to(s, 8, QT_LAYER_MPLS)
                       : QT_FRAME_NOT_TCP;
}

static int peel_geneve(struct qt_peel *s)
{
    if (s->len < 8)
        return QT_FRAME_CUT;
    if (s->p[0] >> 6 != 0)
        return QT_FRAME_NOT_TCP;
    note(s, QT_TUNNEL_GENEVE);
    s->type = qt_be16(s->p + 2);
    return qt_peel_to(s, 8 + (size_t)(s->p[0] & 63) * 4, QT_LAYER_TYPE);
}

int qt_peel_udp(struct qt_peel *s)
{
    if (s->len < 8)
        return QT_FRAME_CUT;
    uint32_t port = qt_be16(s->p + 2);
    qt_peel_skip(s, 8);
    switch (port) {
    case 4789:
    case 8472: /* Linux, before the number was given */
        return peel_vxlan(s, 0);
    case 4790:
        return peel_vxlan(s, 1);
    case 6081:
        return peel_geneve(s);
    case 4754:
        note(s, QT_TUNNEL_GRE);
        return qt_peel_to(s, 0, QT_LAYER_GRE);
    case 6635:
        note(s, QT_TUNNEL_MPLS);
        return qt_peel_to(s, 0, QT_LAYER_MPLS);
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

int qt_peel_gre(struct qt_peel *s)
{
    enum { CHECKSUM = 0x8000, ROUTING = 0x4000, KEY = 0x2000, SEQUENCE = 0x1000, ACK = 0x0080 };
    if (s->len < 4)
        return QT_FRAME_CUT;
    uint32_t flags = qt_be16(s->p), version = flags & 7;
    s->type = qt_be16(s->p + 2);
    if (version > 1 || flags & ROUTING)
        return QT_FRAME_NOT_TCP;
    size_t header = 4 + (flags & CHECKSUM ? 4u : 0) + (flags & KEY ? 4u : 0) + (flags & SEQUENCE ? 4u : 0) +
                    (version == 1 && flags & ACK ? 4u : 0);
    if (!qt_peel_skip(s, header))
        return QT_FRAME_CUT;
    if (version == 1 && s->len == 0) /* PPTP: an acknowledgement */
        return QT_FRAME_NOT_TCP;
    if (s->type == 0x88BE || s->type == 0x22EB)
        return peel_erspan(s, s->type == 0x22EB, (flags & SEQUENCE) != 0);
    return qt_peel_to(s, 0, QT_LAYER_TYPE);
}

/* Labels; behind the last IP, or Ethernet with or without a control word, whose first four bits are 0. */
int qt_peel_mpls(struct qt_peel *s)
{
    for (int labels = 0, last = 0; !last; labels++) {
        if (s->len < 4)
            return QT_FRAME_CUT;
        if (labels == 16)
            return QT_FRAME_BAD;
        last = s->p[2] & 1;
        qt_peel_skip(s, 4);
    }
    if (s->len < 1)
        return QT_FRAME_CUT;
    int first = s->p[0] >> 4;
    return first == 4 || first == 6 ? qt_peel_to(s, 0, QT_LAYER_VERSION)
                                    : qt_peel_to(s, first == 0 ? 4 : 0, QT_LAYER_ETHERNET);
}

/* Address and control may be left out, and the first byte of the protocol where it is 0. */
int qt_peel_ppp(struct qt_peel *s)
{
    if (s->len >= 2 && s->p[0] == 0xFF && s->p[1] == 3)
        qt_peel_skip(s, 2);
    if (s->len < 2)
        return QT_FRAME_CUT;
    uint32_t protocol = s->p[0] & 1 ? s->p[0] : qt_be16(s->p);
    size_t header = s->p[0] & 1 ? 1 : 2;
    return protocol == PPP_IP4    ? qt_peel_to(s, header, QT_LAYER_IP4)
           : protocol == PPP_IP6  ? qt_peel_to(s, header, QT_LAYER_IP6)
           : protocol == PPP_MPLS ? qt_peel_to(s, header, QT_LAYER_MPLS)
                                  : QT_FRAME_NOT_IP;
}

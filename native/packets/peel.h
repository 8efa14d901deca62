/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of links, tags and tunnels, one at a time: each layer takes its header away and names the next. */
#ifndef QT_PEEL_H
#define QT_PEEL_H

#include "packets/frame_types.h"

enum qt_layer {
    QT_LAYER_ETHERNET,
    QT_LAYER_TYPE,    /* what the ether type in `type` says */
    QT_LAYER_VERSION, /* IP of either version */
    QT_LAYER_IP4,
    QT_LAYER_IP6,
    QT_LAYER_EXTENSIONS,
    QT_LAYER_PROTOCOL, /* what the IP protocol in `type` says */
    QT_LAYER_TCP,
    QT_LAYER_UDP,
    QT_LAYER_GRE,
    QT_LAYER_MPLS,
    QT_LAYER_PPP,
    QT_LAYERS
};

enum { QT_PEEL_ON = -1 };

struct qt_peel {
    const uint8_t *p;
    size_t len;  /* captured */
    size_t sent; /* length as sent */
    enum qt_layer next;
    uint32_t type;
    struct qt_frame *out;
};

static inline uint32_t qt_be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static inline uint32_t qt_be32(const uint8_t *p) { return qt_be16(p) << 16 | qt_be16(p + 2); }

/* Takes n bytes away. 0 where so many were not captured. */
static inline int qt_peel_skip(struct qt_peel *s, size_t n)
{
    if (n > s->len)
        return 0;
    s->p += n;
    s->len -= n;
    s->sent = s->sent > n ? s->sent - n : 0;
    return 1;
}

/* Takes n bytes away and goes on with a layer. */
static inline int qt_peel_to(struct qt_peel *s, size_t n, enum qt_layer next)
{
    s->next = next;
    return qt_peel_skip(s, n) ? QT_PEEL_ON : QT_FRAME_CUT;
}

/* Each takes its layer's header away: QT_PEEL_ON, or the frame's kind. */
int qt_peel_type(struct qt_peel *);
int qt_peel_protocol(struct qt_peel *);
int qt_peel_ethernet(struct qt_peel *);
int qt_peel_udp(struct qt_peel *);
int qt_peel_gre(struct qt_peel *);
int qt_peel_mpls(struct qt_peel *);
int qt_peel_ppp(struct qt_peel *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One captured frame down to its TCP segment, through any stack of link layers, tags and tunnels. Reads nothing behind
 * `captured`; copies nothing. */
#ifndef QT_FRAME_H
#define QT_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum qt_frame_kind {
    QT_FRAME_TCP = 0,
    QT_FRAME_NOT_IP, /* ARP, unknown ether types, ... */
    QT_FRAME_NOT_TCP,
    QT_FRAME_FRAGMENT, /* a piece of an IP packet, for fragments.h */
    QT_FRAME_CUT,      /* the capture's snapshot length ends inside the headers */
    QT_FRAME_BAD,      /* lengths that contradict each other */
    QT_FRAME_LINK      /* a link layer that is not known */
};

struct qt_endpoint {
    uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d */
    uint16_t port;
};

enum { QT_TCP_FIN = 1, QT_TCP_SYN = 2, QT_TCP_RST = 4, QT_TCP_ACK = 16 };

struct qt_segment {
    struct qt_endpoint from, to;
    uint32_t seq, ack;
    uint8_t flags;
    const uint8_t *payload;
    size_t len;      /* captured */
    size_t sent_len; /* more than len where the snapshot length cut it */
};

struct qt_fragment { /* its ends are the segment's */
    uint8_t protocol;
    int more; /* others follow */
    uint32_t id;
    size_t offset; /* bytes before it */
    const uint8_t *p;
    size_t len, sent_len;
};

/* What a frame went through. The last three cannot be looked into. */
enum qt_tunnel {
    QT_TUNNEL_VXLAN,
    QT_TUNNEL_GENEVE,
    QT_TUNNEL_GRE,
    QT_TUNNEL_ERSPAN,
    QT_TUNNEL_IP,
    QT_TUNNEL_MPLS,
    QT_TUNNEL_PPPOE,
    QT_TUNNEL_IPSEC,
    QT_TUNNEL_L2TP,
    QT_TUNNEL_MACSEC,
    QT_TUNNELS
};

struct qt_frame {
    struct qt_segment segment;   /* where the kind is QT_FRAME_TCP; its ends also for QT_FRAME_FRAGMENT */
    struct qt_fragment fragment; /* QT_FRAME_FRAGMENT */
    uint32_t tunnels;            /* a bit for each enum qt_tunnel */
};

/* `link`: libpcap's DLT_ number; `sent`: the frame's length as sent. */
enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_frame *out);
/* The same of what an IP packet of this protocol carries; the ends of out->segment are the packet's. */
enum qt_frame_kind qt_frame_parse_payload(uint8_t protocol, const uint8_t *p, size_t captured, size_t sent,
                                          struct qt_frame *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one captured frame down to its TCP segment, through any stack of link layers, tags and tunnels. Reads no bytes
 * beyond `captured` and copies nothing. */
#ifndef QT_FRAME_H
#define QT_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum qt_frame_kind {
    QT_FRAME_TCP = 0,
    QT_FRAME_NOT_IP, /* ARP, unknown ether types, ... */
    QT_FRAME_NOT_TCP,
    QT_FRAME_FRAGMENT, /* a fragment of an IP packet, for fragments.h */
    QT_FRAME_CUT,      /* the frame was truncated inside its headers */
    QT_FRAME_BAD,      /* contradictory lengths */
    QT_FRAME_LINK      /* unknown link layer */
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
    size_t len;      /* captured length */
    size_t sent_len; /* greater than `len` if the capture truncated the payload */
};

struct qt_fragment { /* the addresses of the fragment are in the struct qt_segment */
    uint8_t protocol;
    int more; /* more fragments follow */
    uint32_t id;
    size_t offset; /* bytes of the packet before this fragment */
    const uint8_t *p;
    size_t len, sent_len;
};

/* Tunnels around a frame. The contents of the last three cannot be read. */
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
    struct qt_segment segment;   /* for QT_FRAME_TCP; its addresses also for QT_FRAME_FRAGMENT */
    struct qt_fragment fragment; /* for QT_FRAME_FRAGMENT */
    uint32_t tunnels;            /* bit set of enum qt_tunnel */
};

/* Parses a frame. `link` is libpcap's DLT_ number, and `sent` is the frame's length as sent. */
enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_frame *out);
/* Parses the payload of an IP packet with this protocol. The caller copies the addresses of the packet into
 * `out->segment`. */
enum qt_frame_kind qt_frame_parse_payload(uint8_t protocol, const uint8_t *p, size_t captured, size_t sent,
                                          struct qt_frame *out);

#endif

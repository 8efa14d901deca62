/* SPDX-License-Identifier: Apache-2.0 */
/* One captured frame down to its TCP segment. Reads nothing behind `captured`; copies nothing. */
#ifndef QT_FRAME_H
#define QT_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum qt_frame_kind {
    QT_FRAME_TCP = 0,
    QT_FRAME_NOT_IP, /* ARP, unknown ether types, ... */
    QT_FRAME_NOT_TCP,
    QT_FRAME_FRAGMENT, /* an IP fragment: its segment can't be read */
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

/* `link`: libpcap's DLT_ number; `sent`: the frame's length as sent. Fills `out` where it returns QT_FRAME_TCP. */
enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_segment *out);

#endif

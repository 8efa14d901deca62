/* SPDX-License-Identifier: Apache-2.0 */
/* One captured frame down to its TCP segment, through any stack of link layers, tags and tunnels (peel.h). Reads
 * nothing behind `captured`; copies nothing. */
#ifndef QT_FRAME_H
#define QT_FRAME_H

#include "packets/frame_types.h"

/* `link`: libpcap's DLT_ number; `sent`: the frame's length as sent. */
enum qt_frame_kind qt_frame_parse(int link, const uint8_t *p, size_t captured, size_t sent, struct qt_frame *out);
/* The same of what an IP packet of this protocol carries; the ends of out->segment are the packet's. */
enum qt_frame_kind qt_frame_parse_payload(uint8_t protocol, const uint8_t *p, size_t captured, size_t sent,
                                          struct qt_frame *out);

#endif

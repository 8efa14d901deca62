/* SPDX-License-Identifier: Apache-2.0 */
/* From captured frames to TCP segments; what is passed over is counted and named. */
#ifndef QT_PACKETS_FRAMES_H
#define QT_PACKETS_FRAMES_H

#include "base/json.h"
#include "packets/state.h"

/* Takes one packet of a capture. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_packets_take(struct qt_packets *, const struct qt_packet *, struct qt_error *);
/* The end of the capture: names what is not whole. */
void qt_packets_frames_end(struct qt_packets *);
void qt_packets_describe_frames(const struct qt_packets *, struct qt_json *);

#endif

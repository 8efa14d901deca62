/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses the frames of one direction, one at a time. */
#ifndef QT_PROTOCOL_FRAMES_H
#define QT_PROTOCOL_FRAMES_H

#include "protocol/protocol_state.h"

/* Takes bytes until one frame is complete, and moves `bytes` past the used bytes. Returns 1 if a frame is complete.
 * `*content` is then its content, valid until the next call. Returns 0 if all bytes were used and the frame is still
 * incomplete. Returns -1 with `*code` = QT_EFORMAT for a damaged frame, or QT_ENOMEM. */
int qt_compression_next_frame(struct qt_decoder *, enum qt_way, struct qt_span *bytes, int64_t packet,
                              struct qt_span *content, int *code);
/* Frees the memory of a large frame after its content was used. */
void qt_compression_release(struct qt_decoder *, enum qt_way);

#endif

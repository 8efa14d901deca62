/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed frames of one way, unpacked one by one. */
#ifndef QT_PROTOCOL_FRAMES_H
#define QT_PROTOCOL_FRAMES_H

#include "protocol/protocol_state.h"

/* Takes bytes (moving `bytes` behind what was used) until one frame is whole: 1 = *content is what it holds, until the
 * next call; 0 = all bytes were used, and more are needed; -1 = *code: QT_EFORMAT for a damaged frame, or QT_ENOMEM. */
int qt_compression_next_frame(struct qt_decoder *, enum qt_way, struct qt_span *bytes, int64_t packet,
                              struct qt_span *content, int *code);
/* Gives back the memory of a large frame, once its content was used. */
void qt_compression_release(struct qt_decoder *, enum qt_way);

#endif

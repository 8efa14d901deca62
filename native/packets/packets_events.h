/* SPDX-License-Identifier: Apache-2.0 */
/* From what the decoders tell to rows of the tape. */
#ifndef QT_PACKETS_EVENTS_H
#define QT_PACKETS_EVENTS_H

#include "packets/packets_state.h"

/* The decoders' sink. It adds to the reader's batch, so it runs in the parsing thread. */
struct qt_decoder_sink qt_packets_sink(struct qt_packets *);

#endif

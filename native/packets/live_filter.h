/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's filter of a live capture: the servers' TCP, and all that frame.c and fragments.c may find it in. */
#ifndef QT_LIVE_FILTER_H
#define QT_LIVE_FILTER_H

#include <pcap/pcap.h>

#include "base/bytes.h"
#include "querytape.h"

/* Adds the filter's text, ended by 0: as much of it as this link layer knows. QT_EINVALID if it knows not even the
 * ports. */
int qt_live_filter_text(pcap_t *, const int32_t *ports, int32_t n_ports, struct qt_bytes *out, struct qt_error *);
/* Sets that filter. */
int qt_live_filter_set(pcap_t *, const int32_t *ports, int32_t n_ports, struct qt_error *);

#endif

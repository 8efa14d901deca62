/* SPDX-License-Identifier: Apache-2.0 */
/* Captures packets from an interface with libpcap. A separate thread copies the packets from the kernel's buffer into a
 * bounded ring, and the parser reads the ring. If the ring is full, packets are dropped and counted. The capture never
 * blocks the host. */
#ifndef QT_LIVE_H
#define QT_LIVE_H

#include "base/json.h"
#include "packets/capture_file.h"
#include "querytape.h"

enum { QT_LIVE_QUIET = 2 };

struct qt_live;

/* Opens the interface, then drops root privileges (qt_privileges_drop). Returns NULL on failure: QT_EACCES without
 * permission to capture, QT_EIO for other errors of the interface. */
struct qt_live *qt_live_open(const struct qt_packets_options *, struct qt_error *);
/* Reads the next packet. Returns 1, or QT_LIVE_QUIET if no packet is waiting. Returns 0 if the capture has stopped and
 * the ring is empty, or -1 on failure. */
int qt_live_next(struct qt_live *, struct qt_packet *out, struct qt_error *);
int qt_live_is_part_due(struct qt_live *); /* whether the current part must be written; true once per interval */
/* Returns the number of packets lost so far: the total, and the losses of the kernel, the interface and the ring. */
uint64_t qt_live_count_lost(struct qt_live *, uint64_t *kernel, uint64_t *interface, uint64_t *ring);
void qt_live_describe(struct qt_live *, struct qt_json *);
void qt_live_stop(struct qt_live *); /* may be called from any thread */
void qt_live_close(struct qt_live *);

/* Drops root privileges after the interface was opened. Root becomes `user`, or the account that called sudo
 * (SUDO_UID). If both are unknown, the thread stays root and keeps only CAP_DAC_OVERRIDE, for writing files. Threads
 * that it starts later also have only this capability. If the process is not root, nothing changes. Returns QT_EINVALID
 * for an unknown user. */
int qt_privileges_drop(const char *user, struct qt_error *);

#endif

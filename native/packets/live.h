/* SPDX-License-Identifier: Apache-2.0 */
/* Packets from an interface, by libpcap. A thread of its own copies them out of the kernel's buffer into a bounded
 * ring; the parser takes them from there. Where the ring is full they are dropped and counted: the host is never held
 * up. */
#ifndef QT_LIVE_H
#define QT_LIVE_H

#include "base/json.h"
#include "packets/capture_file.h"
#include "querytape.h"

enum { QT_LIVE_QUIET = 2 };

struct qt_live;

/* Opens the interface, then drops root's privileges where options say so. QT_EIO tells what is missing. */
struct qt_live *qt_live_open(const struct qt_packets_options *, struct qt_error *);
/* 1; QT_LIVE_QUIET when nothing came for a short time; 0 after qt_live_stop, when the ring is empty; -1. */
int qt_live_next(struct qt_live *, struct qt_packet *out, struct qt_error *);
int qt_live_is_part_due(struct qt_live *); /* is it time to write what there is? Says so once each time */
/* Packets lost so far, in all and where. */
uint64_t qt_live_count_lost(struct qt_live *, uint64_t *kernel, uint64_t *interface, uint64_t *ring);
void qt_live_describe(struct qt_live *, struct qt_json *);
void qt_live_stop(struct qt_live *); /* from any thread */
void qt_live_close(struct qt_live *);

/* Drops root's privileges, once the interface is open. */
/* As root: becomes `user`, or who called sudo (SUDO_UID); where neither is known, stays root without any capability but
 * that of writing files, in this thread and those that it starts. Not root: nothing. QT_EINVALID for an unknown
 * user. */
int qt_privileges_drop(const char *user, struct qt_error *);

#endif

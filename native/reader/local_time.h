/* SPDX-License-Identifier: Apache-2.0 */
/* Local times of logs: what they are in UTC, and where they jump. The parsing thread calls it. */
#ifndef QT_LOCAL_TIME_H
#define QT_LOCAL_TIME_H

#include "reader/log_state.h"

/* Copies the zone of the options. 0, -1 = no memory. */
int qt_local_zone_init(struct qt_log *, const struct qt_log_options *);
void qt_local_zone_free(struct qt_log *);
/* A local time of an event of whole seconds in UTC: of an hour that comes twice, the one that follows the time before.
 * Says so in the event: its when_ns, and whether its clock is known. */
void qt_local_time(struct qt_log *, int64_t local_ns, struct qt_event_time *);
/* Notes a jump of the local times at the event that is added to the batch next: whose place is to be filled in; NULL =
 * there is none. */
struct qt_jump *qt_local_note_jump(struct qt_log *, const struct qt_event_time *);
/* Adds problems for those that are the clock's, once the batch has its times. */
void qt_local_say_jumps(struct qt_log *);

#endif

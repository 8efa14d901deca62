/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of a log that were open before it. In the parsing thread. */
#ifndef QT_LOG_CARRIED_H
#define QT_LOG_CARRIED_H

#include "reader/log.h"

/* Where the entry's session has begun with this event and was open before, as its server says: adds the rows of its
 * state before the event's, whose seq grows by them; `like` and `time` are the event's. NULL = it is not known, or
 * *code. */
const struct qt_open_session *qt_log_add_carried(struct qt_log *, int64_t at, struct qt_event_row *like,
                                                 const struct qt_event_time *time, int *code);

#endif

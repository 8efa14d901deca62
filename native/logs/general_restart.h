/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a header in a general log comes from a start of the server. In the parsing thread. */
#ifndef QT_GENERAL_RESTART_H
#define QT_GENERAL_RESTART_H

#include <stdatomic.h>

#include "base/span.h"
#include "logs/general_row.h"
#include "reader/sessions.h"

struct qt_general_starts {
    int pending;                    /* a header was seen that may come from a start */
    int other_version;              /* it names another version than the one before */
    uint64_t first_at;              /* events before the first such header */
    uint64_t last_at;               /* events before the last one */
    uint64_t life_at;               /* events before the last proven start, at most: ids used before it prove nothing */
    int64_t highest;                /* id of the latest connection; -1 = none */
    struct qt_logtime highest_time; /* of its row */
    _Atomic uint64_t restarts;      /* any thread may read it */
};

/* A header of the server, after `events` events. */
void qt_general_note_header(struct qt_general_starts *, uint64_t events, int other_version);
/* A row, before its session is looked up. If it proves a start, the sessions from before end and the start is counted.
 * `argument`: the row's whole argument; `time`: its own time, or that of the row before. */
void qt_general_take_start(struct qt_general_starts *, struct qt_sessions *, const struct qt_general_row *,
                           struct qt_span argument, const struct qt_logtime *time);

#endif

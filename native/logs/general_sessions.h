/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a general log: the account and schema of each so far, and whether the server was restarted between
 * them. In the parsing thread. */
#ifndef QT_GENERAL_SESSIONS_H
#define QT_GENERAL_SESSIONS_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "logs/general_row.h"
#include "reader/event_rows.h"
#include "reader/sessions.h"

struct qt_general_state { /* of the session that an entry means */
    int64_t session;
    char *user, *host, *db; /* owned; NULL = not known */
};

struct qt_general_states {
    struct qt_general_state *state; /* by index of the session's entry; owned */
    size_t n;
};

/* The entry's state, empty where another session had it before; NULL when out of memory. */
struct qt_general_state *qt_general_find_state(struct qt_general_states *, size_t entry, int64_t session);
/* What its server says of a session that was open before the log. */
void qt_general_set_account(struct qt_general_state *, struct qt_span user, struct qt_span db);
/* Who it is now, and what the event's command changes; `argument` is the row's. The event gets account and schema,
 * which stay the state's. */
void qt_general_follow(struct qt_general_state *, struct qt_span argument, struct qt_event_row *);
/* `use shop`: what follows the word. */
void qt_general_follow_use(struct qt_general_state *, struct qt_span statement);
void qt_general_states_free(struct qt_general_states *);

/* Decides whether a header in a general log comes from a start of the server. In the parsing thread. */

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

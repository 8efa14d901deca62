/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what the general log has told of each session so far: its account and schema. In the parsing thread. */
#ifndef QT_GENERAL_STATE_H
#define QT_GENERAL_STATE_H

#include "base/span.h"
#include "reader/event_rows.h"

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
void qt_general_know(struct qt_general_state *, struct qt_span user, struct qt_span db);
/* Who it is now, and what the event's command changes; `argument` is the row's. The event gets account and schema,
 * which stay the state's. */
void qt_general_follow(struct qt_general_state *, struct qt_span argument, struct qt_event_row *);
/* `use shop`: what follows the word. */
void qt_general_follow_use(struct qt_general_state *, struct qt_span statement);
void qt_general_states_free(struct qt_general_states *);

#endif

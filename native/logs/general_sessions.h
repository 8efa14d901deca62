/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a general log: the current account and schema of each session. This module also detects restarts of
 * the server. It is used in the parsing thread. */
#ifndef QT_GENERAL_SESSIONS_H
#define QT_GENERAL_SESSIONS_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "logs/general_row.h"
#include "reader/event_rows.h"
#include "reader/sessions.h"

struct qt_general_state { /* state of one session entry */
    int64_t session;
    char *user, *host, *db; /* owned; NULL: unknown */
};

struct qt_general_states {
    struct qt_general_state *state; /* indexed by session entry; owned */
    size_t n;
};

/* Returns the state of `entry`. The state is empty if the entry belonged to another session before. Returns NULL when
 * out of memory. */
struct qt_general_state *qt_general_find_state(struct qt_general_states *, size_t entry, int64_t session);
/* Sets the account and schema of a session that was open before the log began. The server reported both values. */
void qt_general_set_account(struct qt_general_state *, struct qt_span user, struct qt_span db);
/* Updates the state for one row and sets the account and schema of the event. `argument` is the row's argument. The
 * state keeps the ownership of the account and schema texts. */
void qt_general_follow(struct qt_general_state *, struct qt_span argument, struct qt_event_row *);
/* Sets the schema after `use shop`. `statement` is the whole statement. */
void qt_general_follow_use(struct qt_general_state *, struct qt_span statement);
void qt_general_states_free(struct qt_general_states *);

/* Decides whether a header in a general log marks a start of the server. The functions run in the parsing thread. */

struct qt_general_starts {
    int pending;                    /* an undecided header that may mark a start */
    int other_version;              /* the header and the previous header have different versions */
    uint64_t first_at;              /* events before the first undecided header */
    uint64_t last_at;               /* events before the last undecided header */
    uint64_t life_at;               /* at most this many events before the last start; older ids prove nothing */
    int64_t highest;                /* id of the latest connection; -1: none */
    struct qt_logtime highest_time; /* time of the row of the latest connection */
    _Atomic uint64_t restarts;      /* number of restarts; readable from any thread */
};

/* Records a header of the server, found after `events` events. */
void qt_general_note_header(struct qt_general_starts *, uint64_t events, int other_version);
/* Checks a row before its session is looked up. If the row proves a start, the function ends the earlier sessions and
 * counts the start. `argument` is the row's whole argument. `time` is the row's own time or, if missing, the previous
 * row's time. */
void qt_general_take_start(struct qt_general_starts *, struct qt_sessions *, const struct qt_general_row *,
                           struct qt_span argument, const struct qt_logtime *time);

#endif

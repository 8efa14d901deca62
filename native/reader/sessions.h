/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the session that a log's thread id means now. The parsing thread calls them all; qt_sessions_free frees the
 * table. */
#ifndef QT_SESSIONS_H
#define QT_SESSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "querytape.h"

/* One thread id's present session. Entries move when the table grows: keep indexes, not pointers. */
struct qt_session_entry {
    uint64_t key;          /* thread id, or a hash where the log has none */
    int64_t session;       /* id on the tape */
    int64_t seq;           /* of its last event */
    int64_t prev_end_ns;   /* end of its last event as assigned on the tape; INT64_MIN before the first */
    uint64_t last_use;     /* number of the event that used it last */
    uint32_t account;      /* hash of user and host, to see another client behind the same id */
    int32_t row;           /* row of its last (or next) event in the batch whose times are assigned, -1 = none */
    uint8_t own_timestamp; /* it has set its own `timestamp` */
    struct qt_session_mode mode;
    uint8_t ended; /* Quit was seen: the next use of the id is another session */
};

struct qt_sessions {
    struct qt_session_entry *entries;
    uint32_t *slots; /* entry index + 1, 0 = free; a power of two of them */
    uint32_t n_entries, room;
    uint32_t n_slots;
    uint32_t limit; /* entries kept at most; the longest unused half is forgotten beyond it */
    int64_t next_session;
    uint64_t forgotten;
};

int qt_sessions_init(struct qt_sessions *, uint32_t limit); /* 0, or -1 when out of memory */
void qt_sessions_free(struct qt_sessions *);
/* Index of the entry of `key` (made where there is none, with session 0), or -1 when out of memory. */
int64_t qt_sessions_find(struct qt_sessions *, uint64_t key, uint64_t now);
/* The entry of `key`, or NULL; holds until the next call. */
const struct qt_session_entry *qt_sessions_look_up(const struct qt_sessions *, uint64_t key);
/* Makes the entry mean a new session. */
void qt_sessions_begin(struct qt_sessions *, struct qt_session_entry *);
/* A restarted server numbers its threads from 1 again: forget all that were last used before event `since`. Not while a
 * batch is open. */
void qt_sessions_restart(struct qt_sessions *, uint64_t since);
/* Forgets the longest unused half where the limit is reached. Moves entries: not while a batch is open. */
int qt_sessions_trim(struct qt_sessions *);

#endif

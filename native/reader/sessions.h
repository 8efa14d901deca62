/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the current session of a log's thread id. The parsing thread calls these functions, except qt_sessions_free,
 * which frees the table. */
#ifndef QT_SESSIONS_H
#define QT_SESSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "querytape.h"

/* The current session of one thread id. Entries move when the table grows, so store indexes instead of pointers. */
struct qt_session_entry {
    uint64_t key;          /* thread id, or a hash if the log has none */
    int64_t session;       /* session id on the tape; 0 = not assigned yet */
    int64_t seq;           /* sequence number of the session's last event */
    int64_t prev_end_ns;   /* end of the session's last event as assigned on the tape; INT64_MIN = no event yet */
    uint64_t last_use;     /* number of the last event that used this entry */
    uint32_t account;      /* hash of user and host, to detect another client with the same thread id */
    int32_t row;           /* row of the session's last (or next) event while a batch gets its times; -1 = none */
    uint8_t own_timestamp; /* the session has set its own `timestamp` */
    struct qt_session_mode mode;
    uint8_t ended; /* the log contains the session's disconnect: the next use of the thread id is a new session */
};

struct qt_sessions {
    struct qt_session_entry *entries;
    uint32_t *slots; /* entry index + 1, 0 = free; the number of slots is a power of two */
    uint32_t n_entries, room;
    uint32_t n_slots;
    uint32_t limit; /* maximum number of entries; if exceeded, the longest unused half is forgotten */
    int64_t next_session;
    uint64_t forgotten;
};

int qt_sessions_init(struct qt_sessions *, uint32_t limit); /* returns 0, or -1 when out of memory */
void qt_sessions_free(struct qt_sessions *);
/* Returns the index of the entry of `key`, or -1 when out of memory. A new entry has session 0. */
int64_t qt_sessions_find(struct qt_sessions *, uint64_t key, uint64_t now);
/* Returns the entry of `key`, or NULL. The entry is valid until the next call. */
const struct qt_session_entry *qt_sessions_look_up(const struct qt_sessions *, uint64_t key);
/* Begins a new session in this entry. */
void qt_sessions_begin(struct qt_sessions *, struct qt_session_entry *);
/* Forgets all entries that were last used before event `since`, because a restarted server numbers its threads from 1
 * again. The function must not be called while a batch is open. */
void qt_sessions_restart(struct qt_sessions *, uint64_t since);
/* If the limit is reached, forgets the longest unused half of the entries. Entries move, so the function must not be
 * called while a batch is open. */
int qt_sessions_trim(struct qt_sessions *);

#endif

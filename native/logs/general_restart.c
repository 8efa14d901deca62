/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server writes the same header when it starts, when FLUSH LOGS or a rotation reopens its log, and when the log is
 * switched on. A start is proven by another version, or by a connection after the header whose id is known from before
 * it: a server gives each id once. A lower id than that of an earlier connection proves it as well, if that one came so
 * long ago that no login can have taken the time. Until one of them comes, the sessions go on.
 */
#include "logs/general_restart.h"

#include <string.h>

#define LONGEST_LOGIN_NS (60 * INT64_C(1000000000)) /* connect_timeout is 10 s by default */

static int is_login(const struct qt_general_row *row, struct qt_span argument)
{
    static const char denied[] = "Access denied"; /* a second row of the same connection */
    return strcmp(row->command->tape, "connect") == 0 &&
           (argument.len < sizeof denied - 1 || memcmp(argument.p, denied, sizeof denied - 1) != 0);
}

void qt_general_note_header(struct qt_general_starts *s, uint64_t events, int other_version)
{
    if (events == 0)
        return;
    if (!s->pending)
        s->first_at = events;
    s->last_at = events;
    s->pending = 1;
    s->other_version |= other_version;
}

/* Is it proven? `since`: events before the start. */
static int is_proven(const struct qt_general_starts *s, const struct qt_sessions *sessions, int64_t id, int login,
                     const struct qt_logtime *time, uint64_t *since)
{
    *since = s->first_at;
    if (s->other_version)
        return 1;
    const struct qt_session_entry *known = login ? qt_sessions_look_up(sessions, (uint64_t)id) : NULL;
    if (known != NULL && known->last_use >= s->life_at && known->last_use < s->last_at) {
        *since = known->last_use < s->first_at ? s->first_at : s->last_at;
        return 1;
    }
    return login && id < s->highest && time->kind != QT_LOGTIME_BAD && time->kind == s->highest_time.kind &&
           time->ns - s->highest_time.ns > LONGEST_LOGIN_NS;
}

static void end_sessions(struct qt_sessions *sessions, uint64_t since)
{
    for (uint32_t i = 0; i < sessions->n_entries; i++)
        if (sessions->entries[i].last_use < since)
            sessions->entries[i].ended = 1;
}

void qt_general_take_start(struct qt_general_starts *s, struct qt_sessions *sessions, const struct qt_general_row *row,
                           struct qt_span argument, const struct qt_logtime *time)
{
    uint64_t since;
    int login = is_login(row, argument);
    if (s->pending && is_proven(s, sessions, row->thread_id, login, time, &since)) {
        end_sessions(sessions, since);
        atomic_fetch_add_explicit(&s->restarts, 1, memory_order_relaxed);
        s->pending = s->other_version = 0;
        s->life_at = s->last_at;
        s->highest = -1;
    }
    if (login && row->thread_id > s->highest) {
        s->highest = row->thread_id;
        s->highest_time = *time;
    }
}

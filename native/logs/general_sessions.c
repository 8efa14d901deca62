/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks each session through the rows of a general log. Connect, Change user, Init DB and USE change the session's
 * account or schema. */
#include "logs/general_sessions.h"

#include <stdlib.h>
#include <string.h>

#define ACCESS_DENIED 1045

static char *copy(struct qt_span s) { return s.p != NULL ? strndup(s.p, s.len) : NULL; }

static struct qt_span span_of(const char *text) { return (struct qt_span){text, text != NULL ? strlen(text) : 0}; }

static void set(char **text, struct qt_span to)
{
    char *now = copy(to);
    free(*text);
    *text = now;
}

static void forget(struct qt_general_state *s)
{
    free(s->user);
    free(s->host);
    free(s->db);
    *s = (struct qt_general_state){0, NULL, NULL, NULL};
}

struct qt_general_state *qt_general_find_state(struct qt_general_states *all, size_t entry, int64_t session)
{
    if (entry >= all->n) {
        size_t n = entry * 2 + 64;
        struct qt_general_state *larger = realloc(all->state, n * sizeof *larger);
        if (larger == NULL)
            return NULL;
        memset(larger + all->n, 0, (n - all->n) * sizeof *larger);
        all->state = larger;
        all->n = n;
    }
    struct qt_general_state *s = &all->state[entry];
    if (s->session != session) {
        forget(s);
        s->session = session;
    }
    return s;
}

void qt_general_set_account(struct qt_general_state *s, struct qt_span user, struct qt_span db)
{
    set(&s->user, user);
    set(&s->db, db);
}

void qt_general_follow(struct qt_general_state *s, struct qt_span argument, struct qt_event_row *e)
{
    struct qt_span user, host, db;
    if (strcmp(e->command, "connect") == 0 || strcmp(e->command, "change_user") == 0) {
        static const char denied[] = "Access denied";
        if (argument.len >= sizeof denied - 1 && memcmp(argument.p, denied, sizeof denied - 1) == 0) {
            e->errno_ = ACCESS_DENIED;
            return;
        }
        qt_general_parse_account(argument, &user, &host, &db);
        set(&s->user, user);
        set(&s->host, host);
        set(&s->db, db);
    } else if (strcmp(e->command, "init_db") == 0) {
        set(&s->db, argument);
    }
    e->user = span_of(s->user);
    e->host = span_of(s->host);
    e->db = span_of(s->db);
}

void qt_general_follow_use(struct qt_general_state *s, struct qt_span text)
{
    while (text.len > 0 && (text.p[text.len - 1] == ';' || text.p[text.len - 1] == ' ' || text.p[text.len - 1] == '\n'))
        text.len--;
    const char *blank = memrchr(text.p, ' ', text.len);
    if (blank == NULL)
        return;
    struct qt_span name = {blank + 1, text.len - (size_t)(blank + 1 - text.p)};
    if (name.len >= 2 && name.p[0] == '`' && name.p[name.len - 1] == '`')
        name = (struct qt_span){name.p + 1, name.len - 2};
    set(&s->db, name);
}

void qt_general_states_free(struct qt_general_states *all)
{
    for (size_t i = 0; i < all->n; i++)
        forget(&all->state[i]);
    free(all->state);
}

/* ---- server restarts ---- */

/* A server writes the same header when it starts or when the log is enabled. FLUSH LOGS and a rotation reopen the log
 * and also write this header.
 *
 * A start is proven if the version changes. A server gives each id only once. A start is therefore also proven if a
 * connection after the header reuses an earlier id.
 *
 * A start is also proven if a connection has a lower id than an earlier connection. In this case, the time between the
 * two connections must be longer than any login takes. Without proof the sessions continue. */

#define LONGEST_LOGIN_NS (60 * INT64_C(1000000000)) /* connect_timeout is 10 s by default */

static int is_login(const struct qt_general_row *row, struct qt_span argument)
{
    static const char denied[] = "Access denied"; /* second row of the same connection */
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

/* Returns 1 if a start of the server is proven. Sets `since` to the number of events before that start. */
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

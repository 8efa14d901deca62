/* SPDX-License-Identifier: Apache-2.0 */
/* A log has executions of prepared statements as text: of these nothing is carried. */
#include "reader/log_carried.h"

#include <string.h>

#include "reader/carried_rows.h"

static int is_other_account(const struct qt_open_session *open, struct qt_span user)
{
    return user.p != NULL && (user.len != open->user.len || memcmp(user.p, open->user.p, user.len) != 0);
}

const struct qt_open_session *qt_log_add_carried(struct qt_log *l, int64_t at, struct qt_event_row *like,
                                                 const struct qt_event_time *time, int *code)
{
    struct qt_session_entry *e = &l->sessions.entries[at];
    if (e->seq != 1 || l->reader.open == NULL || like->thread_id < 0 || strcmp(like->command, "connect") == 0)
        return NULL;
    const struct qt_open_session *open = qt_open_sessions_find_thread(l->reader.open, like->thread_id);
    if (open == NULL || is_other_account(open, like->user))
        return NULL;
    struct qt_event_row first = *like;
    first.seq = 0;
    first.user = open->user;
    first.db = open->db;
    *code = qt_carried_rows_add(&l->reader, open, 0, &first, time);
    if (*code != QT_OK)
        return NULL;
    e->seq += first.seq;
    like->seq = e->seq;
    struct qt_session_fact fact = {
        .session = e->session,
        .thread_id = like->thread_id,
        .user = open->user,
        .db = open->db,
        .port = open->port > 0 ? open->port : -1,
        .client_flags = -1,
        .charset = open->charset,
        .open_at_start = 1,
        .open_at_end = -1,
        .encrypted = -1,
    };
    qt_session_facts_add(&l->reader.facts, &fact);
    return open;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Follows each session through the rows of a general log: Connect, Change user, Init DB and USE change who and where it
 * is. */
#include "logs/general_state.h"

#include <stdlib.h>
#include <string.h>

#include "logs/general_row.h"

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

void qt_general_know(struct qt_general_state *s, struct qt_span user, struct qt_span db)
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

/* SPDX-License-Identifier: Apache-2.0 */
/* One workload on two targets: the target takes everything that writes, the reader what may be read elsewhere.
 *
 *   a read outside a transaction, autocommit on ─► the reader
 *   what changes the session (SET, USE, PREPARE of a read, ...) ─► the target, and when it has answered the reader
 *   all else ─► the target
 *
 * Which statements may be read elsewhere the plan says; whether a transaction is open, the target.
 */
#include "engine_private.h"

#include <sys/socket.h>

#include "prepared.h"

const struct qt_engine_options *qt_options_of(const struct qt_session *s)
{
    return s->side == &s->sides[1] ? &s->engine->reader_options : &s->engine->options;
}

/* The conductor shuts the socket on which the session waits. */
void qt_take_side(struct qt_session *s, int reader)
{
    if (s->side == &s->sides[reader])
        return;
    s->side = &s->sides[reader];
    pthread_mutex_lock(&s->engine->fd_lock);
    s->fd = s->side->link.mysql != NULL ? s->side->link.fd : -1;
    if (s->cut && s->fd >= 0)
        shutdown(s->fd, SHUT_RDWR);
    pthread_mutex_unlock(&s->engine->fd_lock);
}

int qt_goes_to_reader(struct qt_session *s, const struct qt_event *ev)
{
    struct qt_link *reader = &s->sides[1].link;

    if (ev->command == QT_COMMAND_FETCH)
        return qt_link_has_cursor(reader, ev->stmt);
    if (!(ev->flags & QT_PLAN_FOR_READER) || s->in_tx || s->pinned || !qt_link_autocommits(&s->sides[0].link))
        return 0;
    return ev->command == QT_COMMAND_QUERY || ev->stmt < 0 || qt_link_is_prepared(reader, ev->stmt);
}

static int begins(const struct qt_event *ev, const char *words)
{
    return ev->len != SIZE_MAX && strncasecmp(ev->statement + strspn(ev->statement, " \t\r\n"), words, strlen(words)) == 0;
}

/* Temporary tables and locks are of one connection alone. */
static void pin(struct qt_session *s, const struct qt_event *ev)
{
    if (begins(ev, "create temporary") || begins(ev, "create or replace temporary") || begins(ev, "lock table"))
        s->pinned = 1;
    else if (begins(ev, "unlock table") || ev->command == QT_COMMAND_RESET_CONNECTION || ev->command == QT_COMMAND_CHANGE_USER)
        s->pinned = 0;
}

void qt_mirror(struct qt_session *s, const struct qt_event *ev)
{
    struct qt_answer a = {.error = 0};
    const char *text;

    if (s->engine->options.reader == NULL || s->broken)
        return;
    pin(s, ev);
    if (!(ev->flags & QT_PLAN_FOR_BOTH))
        return;
    qt_take_side(s, 1);
    if (qt_command_hindrance(s, ev) == QT_EXECUTED && qt_command_send(s, ev, &a) == QT_EXECUTED)
        qt_bump(&s->injected);
    if (a.error != 0)
        atomic_fetch_add(&s->engine->mirror_failed, 1);
    if (a.lost) {
        text = qt_link_error(&s->side->link);
        qt_session_lose(s, &a, &text);
    }
    qt_take_side(s, 0);
    s->free_ns = s->answered_ns = qt_now();
}

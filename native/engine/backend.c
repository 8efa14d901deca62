/* SPDX-License-Identifier: Apache-2.0 */
/* A session has one connection to the target and optionally a second connection to the read target. One of the two is
 * in use at a time.
 *
 *   qt_use_backend ─► session.backend: commands are sent there
 *                  └► session.fd: its socket, which the supervisor may shut down */
#include "engine/backend.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "engine/connection.h"

const struct qt_engine_options *qt_options_for(const struct qt_session *s)
{
    return s->backend == &s->backends[1] ? &s->engine->read_target_options : &s->engine->options;
}

/* Selects the connection to use. session.fd changes as well, because the supervisor shuts down the socket on which the
 * session waits. */
void qt_use_backend(struct qt_session *s, int read_target)
{
    if (s->backend == &s->backends[read_target])
        return;
    s->backend = &s->backends[read_target];
    pthread_mutex_lock(&s->engine->fd_lock);
    s->fd = s->backend->connection.mysql != NULL ? s->backend->connection.fd : -1;
    if (s->cut && s->fd >= 0)
        shutdown(s->fd, SHUT_RDWR);
    pthread_mutex_unlock(&s->engine->fd_lock);
}

int qt_session_mark_lost(struct qt_session *s, const struct qt_answer *a, const char **text)
{
    struct qt_engine *e = s->engine;
    int cut;

    pthread_mutex_lock(&e->fd_lock);
    cut = s->cut;
    pthread_mutex_unlock(&e->fd_lock);
    atomic_store(&s->target_id, -1);
    if (cut) {
        s->broken = qt_stopping(e) ? QT_STOPPED : QT_DRAIN_TIMEOUT;
        *text = qt_stopping(e) ? "no reply: the run was stopped" : "no reply before the end of --drain";
    } else {
        s->broken = QT_CONNECTION_LOST;
        qt_count(e, QT_COUNT_SESSIONS_LOST, 1);
    }
    s->error_code = a->error;
    if (s->error == NULL && *text != NULL)
        s->error = strdup(*text);
    if (!cut && e->options.on_lost == QT_LOST_STOP)
        qt_end_by(e, QT_BY_LOSS);
    return cut;
}

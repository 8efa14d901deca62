/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the engine. engine_state.h shows the structure of the running engine. */
#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "engine/commit_order.h"
#include "engine/digest_times.h"
#include "engine/stats.h"
#include "engine/options.h"
#include "engine/send_guard.h"
#include "engine/queue.h"
#include "engine/outcomes.h"
#include "engine/sessions.h"
#include "engine/supervisor.h"

enum { SUPERVISOR_STACK = 256 << 10 };

struct qt_engine *qt_engine_new(const struct qt_engine_options *options, struct qt_error *err)
{
    struct qt_engine *e;

    if (qt_options_check(options, err) != QT_OK)
        return NULL;
    /* The library initializes itself at its first use, which must not happen in several threads at once. */
    if (mysql_server_init(0, NULL, NULL) != 0 || (e = calloc(1, sizeof *e)) == NULL) {
        qt_fail(err, QT_ENOMEM, "out of memory for an engine");
        return NULL;
    }
    pthread_mutex_init(&e->fd_lock, NULL);
    pthread_mutex_init(&e->feed.lock, NULL);
    pthread_mutex_init(&e->measured.lock, NULL);
    pthread_mutex_init(&e->schedule.speed.lock, NULL);
    e->schedule.speed.factor = 1;
    atomic_store(&e->schedule.speed.paused, 0);
    qt_out_init(e);
    e->table.piece = calloc(QT_MAX_PIECES, sizeof *e->table.piece);
    atomic_store(&e->feed.room_at, -1);
    atomic_store(&e->schedule.last_due_ns, INT64_MIN);
    e->measured.digest_times = qt_digest_times_new();
    e->schedule.due_counts = qt_due_counts_new();
    if (e->table.piece == NULL || e->measured.digest_times == NULL || e->schedule.due_counts == NULL ||
        !qt_options_copy(e, options) ||
        (options->order_tables > 0 && (e->waits.order = qt_order_new(options->order_tables)) == NULL) ||
        (options->check_statements && (e->feed.guard = qt_send_guard_new(&e->options)) == NULL)) {
        qt_engine_free(e);
        qt_fail(err, QT_ENOMEM, "out of memory for an engine");
        return NULL;
    }
    return e;
}

int qt_engine_start(struct qt_engine *e, struct qt_error *err)
{
    int error;

    if (atomic_load(&e->state) != QT_ENGINE_NEW)
        return qt_fail(err, QT_ESTATE, "the engine has already been started");
    e->schedule.start_ns = qt_now();
    if (qt_unpaced(e) && e->options.max_concurrent_sessions > 0 &&
        e->table.n_ahead > e->options.max_concurrent_sessions)
        e->table.n_ahead = e->options.max_concurrent_sessions;
    atomic_store(&e->state, QT_ENGINE_OPENING);
    error = qt_thread_start(&e->threads.supervisor, SUPERVISOR_STACK, qt_supervisor_run, e);
    if (error != 0) {
        atomic_store(&e->state, QT_ENGINE_NEW);
        return qt_fail(err, QT_EIO, "cannot start a thread for the engine: %s", strerror(error));
    }
    e->threads.has_supervisor = 1;
    return QT_OK;
}

void qt_engine_stop(struct qt_engine *e, int32_t how) { qt_stop(e, how); }

void qt_engine_send_until(struct qt_engine *e, int64_t until_ns) { atomic_store(&e->send_until_ns, until_ns); }

const char *qt_engine_connect_error(struct qt_engine *e, int32_t *number)
{
    const struct qt_session *s = atomic_load(&e->first_failed);

    if (s == NULL)
        return NULL;
    *number = s->error_code;
    return s->error != NULL ? s->error : "";
}

void qt_engine_free(struct qt_engine *e)
{
    struct qt_planned_event *ev;

    if (e == NULL)
        return;
    if (e->threads.has_supervisor) {
        qt_stop(e, 2);
        pthread_join(e->threads.supervisor, NULL);
    }
    for (int64_t i = 0; i < e->table.n_sessions; i++)
        while ((ev = qt_session_take(qt_session_at(e, i))) != NULL)
            free(ev);
    qt_engine_sessions_free(e);
    qt_out_free(e);
    qt_options_free(e);
    pthread_mutex_destroy(&e->fd_lock);
    pthread_mutex_destroy(&e->feed.lock);
    pthread_mutex_destroy(&e->measured.lock);
    pthread_mutex_destroy(&e->schedule.speed.lock);
    qt_order_free(e->waits.order);
    qt_send_guard_free(e->feed.guard);
    qt_digest_times_free(e->measured.digest_times);
    qt_due_counts_free(e->schedule.due_counts);
    free(e);
}

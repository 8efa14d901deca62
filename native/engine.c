/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's face: making, starting, watching, stopping, freeing. What the threads do is drawn in engine_private.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arrow_read.h"
#include "engine_private.h"
#include "stream.h"

static char *copy(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

static int check_options(const struct qt_engine_options *o, struct qt_error *error)
{
    if ((o->host == NULL) == (o->socket == NULL))
        return qt_fail(error, QT_EINVALID, "expected either a host or a socket");
    if (o->user == NULL || o->charset == NULL)
        return qt_fail(error, QT_EINVALID, "expected a user and a character set");
    if (o->queue_bytes <= 0 || o->drain_ns < 0 || o->connect_timeout_s <= 0 || o->canaries < 0)
        return qt_fail(error, QT_EINVALID, "expected a queue budget, drain and time-out that are not negative");
    return QT_OK;
}

struct qt_engine *qt_engine_new(const struct qt_engine_options *options, struct qt_error *error)
{
    if (check_options(options, error) != QT_OK)
        return NULL;
    struct qt_engine *e = calloc(1, sizeof *e);
    if (e == NULL || mysql_server_init(0, NULL, NULL) != 0) {
        free(e);
        qt_fail(error, QT_ENOMEM, "out of memory for the engine");
        return NULL;
    }
    e->options = *options;
    e->options.host = copy(options->host);
    e->options.socket = copy(options->socket);
    e->options.user = copy(options->user);
    e->options.password = copy(options->password);
    e->options.db = copy(options->db);
    e->options.charset = copy(options->charset);
    e->options.init = copy(options->init);
    atomic_init(&e->zero_ns, QT_NONE);
    atomic_init(&e->stop_at_ns, QT_NONE);
    pthread_mutex_init(&e->stats_lock, NULL);
    return e;
}

/* ---- sessions ---- */

enum { SESSION, OPEN_DUE, EVENTS, DB, OPENED_AHEAD, SESSION_COLUMNS };

static const struct qt_column_spec session_columns[SESSION_COLUMNS] = {
    {"session", "l"}, {"open_due_ns", "l"}, {"events", "l"}, {"db", "U"}, {"opened_ahead", "b"},
};

static int add_session(struct qt_engine *e, const struct ArrowArray *batch, int64_t row, size_t *room)
{
    if (e->n_sessions == *room) {
        size_t larger = *room ? *room * 2 : 64;
        struct qt_session *sessions = realloc(e->sessions, larger * sizeof *sessions);
        if (sessions == NULL)
            return -1;
        e->sessions = sessions;
        *room = larger;
    }
    struct qt_session *s = &e->sessions[e->n_sessions];
    size_t len;
    memset(s, 0, sizeof *s);
    s->engine = e;
    s->id = qt_read_i64(batch->children[SESSION], row);
    s->open_due_ns = e->options.max_pace ? 0 : qt_read_i64(batch->children[OPEN_DUE], row);
    s->planned = qt_read_i64(batch->children[EVENTS], row);
    const char *db = qt_read_bytes(batch->children[DB], row, &len);
    s->opened_ahead = qt_read_bool(batch->children[OPENED_AHEAD], row);
    s->fd = -1;
    s->connect_ns = s->connected_ns = s->closed_ns = QT_NONE;
    s->head = s->tail = calloc(1, sizeof *s->head);
    s->db = db != NULL ? strndup(db, len) : NULL;
    if (s->head == NULL || (db != NULL && s->db == NULL)) {
        free(s->head);
        return -1;
    }
    e->n_sessions++;
    return 0;
}

int qt_engine_sessions(struct qt_engine *e, struct ArrowArrayStream *in, struct qt_error *error)
{
    size_t room = 0;
    int code = e->sessions != NULL ? qt_fail(error, QT_ESTATE, "the sessions are known already")
                                   : qt_read_schema(in, session_columns, SESSION_COLUMNS, error);
    while (code == QT_OK) {
        struct ArrowArray batch;
        if (in->get_next(in, &batch) != 0) {
            code = qt_fail(error, QT_EIO, "the list of sessions ended early: %s", in->get_last_error(in));
            break;
        }
        if (batch.release == NULL)
            break;
        for (int64_t row = 0; row < batch.length && code == QT_OK; row++)
            if (add_session(e, &batch, row, &room) != 0)
                code = qt_fail(error, QT_ENOMEM, "out of memory for %zu sessions", e->n_sessions);
        batch.release(&batch);
    }
    in->release(in);
    for (size_t i = 0; i < e->n_sessions; i++) { /* they do not move any more */
        pthread_mutex_init(&e->sessions[i].lock, NULL);
        e->early_left += e->sessions[i].open_due_ns <= 0;
    }
    atomic_store(&e->running, (int64_t)e->n_sessions);
    if (code == QT_OK && qt_engine_index(e) != 0)
        code = qt_fail(error, QT_ENOMEM, "out of memory for %zu sessions", e->n_sessions);
    return code;
}

int qt_engine_start(struct qt_engine *e, struct qt_error *error)
{
    if (e->by_id == NULL || e->has_opener)
        return qt_fail(error, QT_ESTATE, "expected sessions, and to be started once");
    e->canaries = calloc((size_t)e->options.canaries + 1, sizeof *e->canaries);
    for (int i = 0; e->canaries != NULL && i < e->options.canaries; i++)
        e->n_canaries += pthread_create(&e->canaries[e->n_canaries], NULL, qt_canary_main, e) == 0;
    if (e->canaries == NULL || pthread_create(&e->opener, NULL, qt_opener_main, e) != 0)
        return qt_fail(error, QT_ENOMEM, "no thread could be created for the engine");
    e->has_opener = 1;
    return QT_OK;
}

void qt_engine_stop(struct qt_engine *e, int32_t how)
{
    int64_t none = QT_NONE;
    atomic_compare_exchange_strong(&e->stop_at_ns, &none, qt_now());
    if (atomic_load(&e->stop) < how)
        atomic_store(&e->stop, how);
    for (size_t i = 0; i < e->n_sessions; i++)
        qt_wake(&e->sessions[i].signal);
    qt_wake(&e->signal); /* the opener cuts the sockets where `how` asks for it */
}

/* ---- watching ---- */

static int64_t live_cpu(struct qt_engine *e)
{
    int64_t sum = 0;
    for (size_t i = 0; i < e->n_sessions; i++) {
        struct qt_session *s = &e->sessions[i];
        struct timespec t;
        clockid_t id;
        pthread_mutex_lock(&s->lock);
        if (s->alive && s->has_thread && pthread_getcpuclockid(s->thread, &id) == 0 && clock_gettime(id, &t) == 0)
            sum += (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
        pthread_mutex_unlock(&s->lock);
    }
    return sum;
}

static int state_of(struct qt_engine *e)
{
    if (!e->has_opener)
        return QT_ENGINE_NEW;
    if (atomic_load(&e->done))
        return atomic_load(&e->finished) == NULL ? QT_ENGINE_DONE : QT_ENGINE_DRAINING;
    if (atomic_load(&e->zero_ns) == QT_NONE)
        return QT_ENGINE_OPENING;
    int last_due = !e->options.max_pace && atomic_load(&e->feed_ended) &&
                   qt_now() > atomic_load(&e->zero_ns) + atomic_load(&e->max_due_ns);
    return last_due || atomic_load(&e->stop) ? QT_ENGINE_DRAINING : QT_ENGINE_RUNNING;
}

static void quantiles(struct qt_engine *e, struct qt_engine_stats *out)
{
    pthread_mutex_lock(&e->stats_lock);
    out->p95_ns = qt_histogram_quantile(&e->service, e->service_before, 0.95);
    out->late_p99_ns = qt_histogram_quantile(&e->late, e->late_before, 0.99);
    qt_histogram_copy(&e->service, e->service_before);
    qt_histogram_copy(&e->late, e->late_before);
    pthread_mutex_unlock(&e->stats_lock);
    out->tool_p50_ns = qt_histogram_quantile(&e->tool, NULL, 0.5);
    out->tool_p99_ns = qt_histogram_quantile(&e->tool, NULL, 0.99);
    out->canary_p50_ns = qt_histogram_quantile(&e->canary, NULL, 0.5);
    out->canary_p99_ns = qt_histogram_quantile(&e->canary, NULL, 0.99);
}

void qt_engine_stats(struct qt_engine *e, struct qt_engine_stats *out)
{
    memset(out, 0, sizeof *out);
    out->fed = atomic_load(&e->fed);
    out->executed = atomic_load(&e->executed);
    out->not_sent = atomic_load(&e->not_sent);
    out->reads = atomic_load(&e->reads);
    out->writes = atomic_load(&e->writes);
    out->others = atomic_load(&e->others);
    out->errors = atomic_load(&e->errors);
    out->injected = atomic_load(&e->injected);
    out->sessions_open = atomic_load(&e->open_now);
    out->sessions_opened = atomic_load(&e->opened);
    out->sessions_failed = atomic_load(&e->failed);
    out->sessions_lost = atomic_load(&e->lost);
    out->queued_bytes = (uint64_t)atomic_load(&e->queued_bytes);
    int64_t zero = atomic_load(&e->zero_ns);
    out->now_ns = zero == QT_NONE ? -1 : qt_now() - zero;
    out->engine_cpu_ns = atomic_load(&e->cpu_ended_ns) + live_cpu(e);
    out->drain_cut = atomic_load(&e->drain_cut);
    out->zero_real_ns = atomic_load(&e->zero_real_ns);
    out->state = state_of(e);
    quantiles(e, out);
}

/* ---- results and the end ---- */

enum { R_SESSION, R_CLONE, R_AHEAD, R_DUE, R_CONNECT, R_CONNECTED, R_CLOSED, R_THREAD, R_EXECUTED, R_INJECTED, R_TRX, R_ERRNO,
       R_ERROR, R_COLUMNS };

static const struct qt_column_spec result_columns[R_COLUMNS] = {
    {"session", "l"}, {"clone", "i"}, {"opened_ahead", "b"}, {"connect_due_ns", "l"}, {"connect_ns", "l"},
    {"connected_ns", "l"}, {"closed_ns", "l"}, {"thread_id", "l"}, {"executed", "l"}, {"injected", "l"},
    {"in_transaction", "b"}, {"errno", "i"}, {"error", "u"},
};

static int relative(struct qt_columns *c, size_t column, int64_t when, int64_t zero)
{
    if (when == QT_NONE || zero == QT_NONE)
        return qt_col_null(c, column);
    qt_col_i64(c, column, when - zero);
    return 0;
}

static int add_result(struct qt_columns *c, const struct qt_session *s, int64_t zero)
{
    if (qt_columns_room(c) != 0)
        return -1;
    qt_col_i64(c, R_SESSION, s->id);
    qt_col_i32(c, R_CLONE, 0);
    qt_col_bool(c, R_AHEAD, s->opened_ahead);
    qt_col_i64(c, R_DUE, s->open_due_ns);
    int bad = relative(c, R_CONNECT, s->connect_ns, zero) | relative(c, R_CONNECTED, s->connected_ns, zero) |
              relative(c, R_CLOSED, s->closed_ns, zero);
    if (s->connected_ns != QT_NONE) {
        qt_col_i64(c, R_THREAD, s->thread_id);
        qt_col_bool(c, R_TRX, s->in_transaction);
    } else {
        bad |= qt_col_null(c, R_THREAD) | qt_col_null(c, R_TRX);
    }
    qt_col_i64(c, R_EXECUTED, s->executed);
    qt_col_i64(c, R_INJECTED, s->injected);
    qt_col_i32(c, R_ERRNO, s->error_number);
    bad |= s->error != NULL ? qt_col_text(c, R_ERROR, s->error, strlen(s->error)) : qt_col_null(c, R_ERROR);
    if (!bad)
        qt_columns_row(c);
    return bad;
}

struct results {
    struct qt_engine *engine;
    int given;
};

static int next_results(void *owner, struct ArrowArray *out, struct qt_error *error)
{
    struct results *r = owner;
    struct qt_columns c;
    if (r->given)
        return QT_OK;
    r->given = 1;
    int bad = qt_columns_init(&c, result_columns, R_COLUMNS);
    for (size_t i = 0; i < r->engine->n_sessions && !bad; i++)
        bad = add_result(&c, &r->engine->sessions[i], atomic_load(&r->engine->zero_ns));
    if (!bad)
        bad = qt_columns_finish(&c, out);
    qt_columns_free(&c);
    return bad ? qt_fail(error, QT_ENOMEM, "out of memory for the sessions' results") : QT_OK;
}

int qt_engine_session_results(struct qt_engine *e, struct ArrowArrayStream *out, struct qt_error *error)
{
    if (!atomic_load(&e->done))
        return qt_fail(error, QT_ESTATE, "the run has not ended");
    struct results *r = calloc(1, sizeof *r);
    if (r == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory");
    r->engine = e;
    struct qt_stream_source source = {r, result_columns, R_COLUMNS, next_results, free};
    int code = qt_stream_make(&source, out, error);
    if (code)
        free(r);
    return code;
}

static void free_session(struct qt_session *s)
{
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    for (struct qt_event *event = s->head, *next; event != NULL; event = next) {
        next = atomic_load(&event->next);
        free(event);
    }
    free(s->chunk);
    free(s->db);
    free(s->schema);
    free(s->error);
    pthread_mutex_destroy(&s->lock);
}

void qt_engine_free(struct qt_engine *e)
{
    if (e == NULL)
        return;
    if (e->has_opener) {
        if (!atomic_load(&e->done))
            qt_engine_stop(e, 2);
        pthread_join(e->opener, NULL);
    }
    atomic_store(&e->done, 1);
    for (int i = 0; i < e->n_canaries; i++)
        pthread_join(e->canaries[i], NULL);
    for (size_t i = 0; i < e->n_sessions; i++)
        free_session(&e->sessions[i]);
    qt_outcome_drop(e);
    const char *texts[] = {e->options.host, e->options.socket, e->options.user, e->options.password, e->options.db,
                           e->options.charset, e->options.init};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free((char *)texts[i]);
    free(e->sessions);
    free(e->by_id);
    free(e->canaries);
    pthread_mutex_destroy(&e->stats_lock);
    free(e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one session's thread: connect, wait for the run's zero, then each event: wait for it, wait until it is due,
 * send it, read the answer, write its outcome. After a lost connection it goes on taking events, and says of each why it
 * was not sent; so neither the feeder nor the books ever hang on it.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"

#define LONG_WAIT_NS INT64_C(1000000000) /* before a wait of this length outcomes are handed over */

static int64_t since_zero(const struct qt_session *s, int64_t now)
{
    return now - atomic_load_explicit(&s->engine->zero_ns, memory_order_relaxed);
}

static void open_connection(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    s->connect_ns = qt_now();
    if (atomic_load(&e->stop)) {
        s->dead = QT_R_STOPPED;
        return;
    }
    if (qt_connection_open(s) != 0) {
        s->dead = QT_R_CONNECT;
        atomic_fetch_add(&e->failed, 1);
        return;
    }
    s->connected_ns = qt_now();
    atomic_fetch_add(&e->opened, 1);
    atomic_fetch_add(&e->open_now, 1);
}

static void close_connection(struct qt_session *s)
{
    if (s->connected_ns == QT_NONE || s->closed_ns != QT_NONE)
        return;
    qt_connection_close(s);
    s->closed_ns = qt_now();
    atomic_fetch_sub(&s->engine->open_now, 1);
}

static void wait_for_zero(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    for (;;) {
        uint32_t seen = atomic_load(&s->signal);
        if (atomic_load(&e->zero_ns) != QT_NONE || atomic_load(&e->stop))
            return;
        qt_wait(&s->signal, seen, QT_NONE);
    }
}

/* The next event of the queue; waits for the feeder. NULL where nothing more will come. */
static struct qt_event *next_event(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    for (;;) {
        uint32_t seen = atomic_load(&s->signal);
        int ended = atomic_load(&e->feed_ended) || atomic_load(&e->stop);
        struct qt_event *next = atomic_load_explicit(&s->head->next, memory_order_acquire);
        if (next != NULL) {
            free(s->head); /* the old dummy; the event taken becomes the new one */
            s->head = next;
            return next;
        }
        if (ended)
            return NULL;
        atomic_store(&s->wants_event, 1);
        if (atomic_load(&s->head->next) != NULL) {
            atomic_store(&s->wants_event, 0);
            continue;
        }
        if (s->chunk != NULL && qt_wait(&s->signal, seen, qt_now() + LONG_WAIT_NS) == 0)
            continue;
        qt_outcome_flush(s);
        qt_wait(&s->signal, seen, QT_NONE);
    }
}

/* Sleeps until the absolute time, unless the run is stopped. */
static void wait_until(struct qt_session *s, int64_t when)
{
    struct qt_engine *e = s->engine;
    for (;;) {
        uint32_t seen = atomic_load(&s->signal);
        int64_t now = qt_now();
        if (now >= when || atomic_load(&e->stop))
            return;
        if (when - now > LONG_WAIT_NS)
            qt_outcome_flush(s);
        qt_wait(&s->signal, seen, when);
    }
}

static void give_back(struct qt_engine *e, const struct qt_event *event)
{
    int64_t size = (int64_t)(sizeof *event + event->db_len + event->statement_len + 2);
    int64_t left = atomic_fetch_sub(&e->queued_bytes, size) - size;
    if (atomic_load(&e->feeder_waits) && left < e->options.queue_bytes * 3 / 4)
        qt_wake(&e->signal);
}

static void count(struct qt_engine *e, const struct qt_event *event, const struct qt_outcome *o)
{
    _Atomic uint64_t *kind = event->klass == QT_CLASS_READ ? &e->reads : event->klass == QT_CLASS_WRITE ? &e->writes : &e->others;
    atomic_fetch_add_explicit(kind, 1, memory_order_relaxed);
    if (o->error_number != 0)
        atomic_fetch_add_explicit(&e->errors, 1, memory_order_relaxed);
}

static int64_t latest(int64_t a, int64_t b, int64_t c)
{
    a = a > b ? a : b;
    return a > c ? a : c;
}

static void note_times(struct qt_engine *e, const struct qt_outcome *o)
{
    qt_histogram_add(&e->service, o->done_ns - o->sent_ns);
    if (o->due_ns != QT_NONE)
        qt_histogram_add(&e->late, o->sent_ns - o->due_ns);
    qt_histogram_add(&e->tool, o->sent_ns - latest(o->due_ns, o->fed_ns, o->free_ns));
}

static int is_sendable(const struct qt_event *e)
{
    return e->command == QT_COMMAND_QUERY || e->command == QT_COMMAND_INIT_DB || e->command == QT_COMMAND_PING ||
           e->command == QT_COMMAND_RESET || e->command == QT_COMMAND_QUIT;
}

/* Why this event can't be sent now, QT_R_NONE where it can. */
static int hindrance(const struct qt_session *s, const struct qt_event *event)
{
    struct qt_engine *e = s->engine;
    if (atomic_load_explicit(&e->cut, memory_order_relaxed))
        return atomic_load(&e->stop) ? QT_R_STOPPED : QT_R_DRAIN;
    if (atomic_load_explicit(&e->stop, memory_order_relaxed))
        return QT_R_STOPPED;
    if (s->dead)
        return s->dead;
    if (s->connection == NULL)
        return QT_R_LOST; /* behind its own quit */
    return is_sendable(event) ? QT_R_NONE : QT_R_UNSUPPORTED;
}

/* Selects the event's schema where the session is in another one: before it is due, where there is time. Then the session
 * is free only behind it. Returns why the event can't be sent. */
static int enter_schema(struct qt_session *s, const struct qt_event *event, struct qt_outcome *o)
{
    if (event->command != QT_COMMAND_QUERY || !event->has_db || event->db_len == 0 || (event->flags & QT_F_USE))
        return QT_R_NONE;
    if (s->schema != NULL && strcmp(s->schema, event->bytes) == 0)
        return QT_R_NONE;
    int number = qt_connection_schema(s, event->bytes);
    o->free_ns = since_zero(s, qt_now());
    if (number == 0)
        return QT_R_NONE;
    o->error_number = (int32_t)number;
    o->error = strdup(mysql_error(s->connection));
    return QT_R_SCHEMA;
}

static void lose_connection(struct qt_session *s, const struct qt_outcome *o)
{
    struct qt_engine *e = s->engine;
    s->dead = atomic_load(&e->cut) ? (atomic_load(&e->stop) ? QT_R_STOPPED : QT_R_DRAIN) : QT_R_LOST;
    s->error_number = o->error_number;
    free(s->error);
    s->error = o->error != NULL ? strdup(o->error) : NULL;
    if (s->dead == QT_R_LOST)
        atomic_fetch_add(&e->lost, 1);
    else
        atomic_fetch_add(&e->drain_cut, 1);
    close_connection(s);
}

static int64_t replay_event(struct qt_session *s, const struct qt_event *event, int64_t free_ns)
{
    struct qt_engine *e = s->engine;
    struct qt_outcome o = {
        .seq = event->seq, .due_ns = event->due_ns, .free_ns = free_ns, .sent_ns = QT_NONE, .first_ns = QT_NONE,
        .done_ns = QT_NONE, .rows_sent = QT_NONE, .rows_affected = QT_NONE, .bytes_received = QT_NONE, .warnings = -1,
    };
    int64_t zero = atomic_load_explicit(&e->zero_ns, memory_order_relaxed);
    zero = zero == QT_NONE ? qt_now() : zero; /* stopped before it began */
    o.fed_ns = event->fed_ns - zero;
    if (e->options.max_pace)
        o.due_ns = QT_NONE;
    o.reason = (uint8_t)hindrance(s, event);
    if (o.reason == QT_R_NONE)
        o.reason = (uint8_t)enter_schema(s, event, &o);
    if (o.reason == QT_R_NONE && !e->options.max_pace) {
        wait_until(s, zero + event->due_ns);
        o.reason = (uint8_t)hindrance(s, event);
    }
    int64_t now = qt_now();
    if (o.reason == QT_R_NONE) {
        o.executed = 1;
        o.sent_ns = now - zero;
        qt_connection_send(s, event, &o);
        now = qt_now();
        if (o.first_ns != QT_NONE)
            o.first_ns -= zero;
        s->executed++;
        int lost = qt_error_is_loss(o.error_number);
        if (!lost) {
            o.done_ns = now - zero;
            note_times(e, &o);
        }
        count(e, event, &o);
        if (lost)
            lose_connection(s, &o);
    } else {
        o.free_ns = s->dead ? QT_NONE : o.free_ns;
    }
    if (o.error_number != 0 && qt_error_is_loss(o.error_number) && s->dead == QT_R_NONE)
        lose_connection(s, &o);
    if (qt_outcome_add(s, &o, now) != 0)
        free(o.error);
    return now - zero;
}

static void ended(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    qt_outcome_flush(s);
    mysql_thread_end();
    pthread_mutex_lock(&s->lock);
    s->alive = 0;
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_add(&e->cpu_ended_ns, qt_thread_cpu());
    if (atomic_fetch_sub(&e->running, 1) == 1)
        qt_wake(&e->signal);
}

void *qt_session_main(void *argument)
{
    struct qt_session *s = argument;
    struct qt_engine *e = s->engine;
    qt_precise_sleep();
    mysql_thread_init();
    open_connection(s);
    if (s->open_due_ns <= 0 && atomic_fetch_sub(&e->early_left, 1) == 1)
        qt_wake(&e->signal);
    wait_for_zero(s);
    int64_t free_ns = s->connected_ns != QT_NONE ? since_zero(s, s->connected_ns) : QT_NONE;
    for (int64_t n = 0; n < s->planned; n++) {
        struct qt_event *event = next_event(s);
        if (event == NULL)
            break;
        free_ns = replay_event(s, event, free_ns);
        give_back(e, event);
    }
    close_connection(s);
    ended(s);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opener's thread: creates each session's thread when it is due (each connects itself), sets the run's zero once the
 * sessions due at the start are there, and in the end waits for the last answers as long as the drain allows.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "engine_private.h"

#define BEFORE_ZERO_NS INT64_C(20000000)
#define CANARY_STEP_NS INT64_C(16000000)

/* Waits until the time, or until the run is stopped. */
static void sleep_until(struct qt_engine *e, int64_t when)
{
    while (!atomic_load(&e->stop)) {
        uint32_t seen = atomic_load(&e->signal);
        if (qt_now() >= when || qt_wait(&e->signal, seen, when) == 1)
            return;
    }
}

/* Its events are taken and said by the feeder from now on; what is queued already is said here. */
static void without_thread(struct qt_session *s, int number)
{
    struct qt_engine *e = s->engine;
    s->error_number = number;
    s->dead = QT_R_THREAD;
    atomic_store(&s->no_thread, 1);
    atomic_fetch_add(&e->failed, 1);
    if (s->open_due_ns <= 0 && atomic_fetch_sub(&e->early_left, 1) == 1)
        qt_wake(&e->signal);
    atomic_fetch_sub(&e->running, 1);
}

static void start_session(struct qt_engine *e, struct qt_session *s)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int64_t least = (int64_t)PTHREAD_STACK_MIN, stack = e->options.stack_bytes;
    pthread_attr_setstacksize(&attributes, (size_t)(stack > least ? stack : least));
    s->alive = 1;
    int bad = pthread_create(&s->thread, &attributes, qt_session_main, s);
    pthread_attr_destroy(&attributes);
    if (bad) {
        s->alive = 0;
        without_thread(s, bad);
    } else {
        s->has_thread = 1;
    }
}

static void set_zero(struct qt_engine *e)
{
    struct timespec real;
    while (!atomic_load(&e->stop)) {
        uint32_t seen = atomic_load(&e->signal);
        if (atomic_load(&e->early_left) == 0 && atomic_load(&e->fed_enough))
            break;
        qt_wait(&e->signal, seen, QT_NONE);
    }
    clock_gettime(CLOCK_REALTIME, &real);
    atomic_store(&e->zero_real_ns, (int64_t)real.tv_sec * 1000000000 + real.tv_nsec + BEFORE_ZERO_NS);
    atomic_store(&e->zero_ns, qt_now() + BEFORE_ZERO_NS);
    for (size_t i = 0; i < e->n_sessions; i++)
        qt_wake(&e->sessions[i].signal);
}

static void open_sessions(struct qt_engine *e)
{
    int64_t step = e->options.connect_rate > 0 ? INT64_C(1000000000) / e->options.connect_rate : 0;
    int64_t next = qt_now();
    size_t i = 0;
    for (; i < e->n_sessions && e->sessions[i].open_due_ns <= 0; i++, next += step) {
        sleep_until(e, next);
        start_session(e, &e->sessions[i]);
    }
    set_zero(e);
    for (; i < e->n_sessions; i++) {
        sleep_until(e, atomic_load(&e->zero_ns) + e->sessions[i].open_due_ns);
        start_session(e, &e->sessions[i]); /* when stopped too: its thread says why its events were not sent */
    }
    atomic_store(&e->opened_all, 1);
}

void qt_engine_cut(struct qt_engine *e)
{
    atomic_store(&e->cut, 1);
    for (size_t i = 0; i < e->n_sessions; i++) {
        struct qt_session *s = &e->sessions[i];
        pthread_mutex_lock(&s->lock);
        if (s->fd >= 0)
            shutdown(s->fd, SHUT_RDWR);
        pthread_mutex_unlock(&s->lock);
        qt_wake(&s->signal);
    }
}

/* When waiting for answers ends: QT_NONE while there is no reason to end it. */
static int64_t deadline(const struct qt_engine *e)
{
    struct qt_engine *w = (struct qt_engine *)e;
    int64_t stopped = atomic_load(&w->stop_at_ns), drain = e->options.drain_ns;
    if (stopped != QT_NONE)
        return atomic_load(&w->stop) >= 2 ? stopped : stopped + drain;
    if (e->options.max_pace || !atomic_load(&w->feed_ended))
        return QT_NONE;
    return atomic_load(&w->zero_ns) + atomic_load(&w->max_due_ns) + drain;
}

static void wait_for_end(struct qt_engine *e)
{
    int64_t cut_at = QT_NONE;
    while (atomic_load(&e->running) > 0) {
        uint32_t seen = atomic_load(&e->signal);
        int64_t end = deadline(e), now = qt_now();
        if (atomic_load(&e->running) == 0)
            break;
        if (end != QT_NONE && now >= end && (cut_at == QT_NONE || now - cut_at > 100000000)) {
            qt_engine_cut(e); /* again: a session may have been connecting the first time */
            cut_at = now;
        }
        qt_wait(&e->signal, seen, now + 50000000);
    }
}

void *qt_opener_main(void *argument)
{
    struct qt_engine *e = argument;
    qt_precise_sleep();
    open_sessions(e);
    wait_for_end(e);
    atomic_fetch_add(&e->cpu_ended_ns, qt_thread_cpu());
    atomic_store(&e->done, 1);
    qt_wake(&e->outcome_signal);
    return NULL;
}

/* A thread that does nothing but sleep to absolute times while the replay runs: how late this machine wakes anybody. */
void *qt_canary_main(void *argument)
{
    struct qt_engine *e = argument;
    qt_precise_sleep();
    while (atomic_load(&e->zero_ns) == QT_NONE && !atomic_load(&e->stop) && !atomic_load(&e->done)) {
        struct timespec pause = {0, 5000000};
        nanosleep(&pause, NULL);
    }
    int64_t next = atomic_load(&e->zero_ns) + (int64_t)((uintptr_t)&next / 16 % 1000) * (CANARY_STEP_NS / 1000);
    while (!atomic_load(&e->done) && !atomic_load(&e->stop)) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
        qt_histogram_add(&e->canary, qt_now() - next);
        next += CANARY_STEP_NS;
    }
    return NULL;
}

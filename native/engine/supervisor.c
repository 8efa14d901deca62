/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: one thread that starts and ends the sessions.
 *
 *   OPENING   create the threads of sessions that are open at the start, at most connect_rate per second
 *      │      when all connected or failed, and the feeder is primed: set zero
 *   RUNNING   create each further thread a little before its session is due (max pace: when the tape has room for it)
 *      │      until the feed has ended and the last event is due, or a stop
 *   DRAINING  until every thread ended, or the time is up: then shut down the sockets, so that the threads end
 *      │
 *   DONE
 *
 * The supervisor never connects and never waits for a single session. It sleeps on `wakeups` until its next action. */
#include "engine/supervisor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/thread.h"
#include "engine/finish_event.h"
#include "engine/pace.h"
#include "engine/queue.h"
#include "engine/outcomes.h"
#include "engine/session.h"
#include "engine/stats.h"

#define AHEAD_NS (20 * 1000000LL)     /* a thread is created this long before its session connects */
#define NO_THREAD_NS (20 * 1000000LL) /* interval for refusing events of sessions without a thread */
#define WAKE_NS 20000LL               /* approximate time to wake one thread */

struct supervisor {
    struct qt_engine *e;
    int64_t next; /* index of the next session to start */
    int64_t joined, no_threads;
    int64_t deadline_ns; /* end of the drain; QT_FOREVER = not set */
    uint64_t progress;   /* without due times: result of the last sum_progress */
    int64_t progress_ns;
    int64_t last_due_ns; /* absolute; set when the feed has ended: the drain begins */
    int64_t fed_ns;      /* end of the feed; a statement larger than the queue may be fed late */
    int32_t stop_seen;   /* the greatest stop that was handled */
};

static int64_t pick_earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/* Registers a session whose thread could not be created. The supervisor refuses its events. */
static void keep_without_thread(struct supervisor *v, struct qt_session *s, int error)
{
    s->no_thread = 1;
    s->error_code = error;
    s->error = strdup("the system could not start another thread");
    v->no_threads++;
    qt_count_failed(s);
    atomic_fetch_add(&v->e->threads.settled, 1);
}

static void start_session(struct supervisor *v)
{
    struct qt_engine *e = v->e;
    struct qt_session *s = qt_session_at(e, v->next++);
    int error = qt_thread_start(&s->thread, e->options.stack_bytes, qt_session_run, s);

    atomic_fetch_add(&e->threads.spawned, 1);
    if (error != 0)
        keep_without_thread(v, s, error);
}

/* Returns when to create the thread of the next session. QT_FOREVER means that the next session cannot start yet. */
static int64_t find_next_start(struct supervisor *v, int64_t now)
{
    struct qt_engine *e = v->e;
    int64_t zero = atomic_load(&e->schedule.zero_ns), most;

    if (v->next == e->table.n_sessions || qt_stopping(e))
        return QT_FOREVER;
    if (v->next < e->table.n_ahead)
        return e->schedule.start_ns + (int64_t)((double)v->next * (double)QT_SECOND / (double)e->options.connect_rate);
    if (zero == 0)
        return QT_FOREVER;
    if (!qt_unpaced(e))
        return qt_plan_to_clock(e, qt_session_at(e, v->next)->open_due_ns) - AHEAD_NS;
    most = e->options.max_concurrent_sessions > 0 ? e->options.max_concurrent_sessions
                                                  : qt_session_at(e, v->next)->concurrency;
    if (v->next >= atomic_load(&e->feed.announced) || v->next - v->joined - v->no_threads >= most)
        return QT_FOREVER;
    return now;
}

static void join_ended(struct supervisor *v)
{
    struct qt_session *s = atomic_exchange(&v->e->threads.ended_list, NULL);
    while (s != NULL) {
        struct qt_session *next = s->next_ended;
        pthread_join(s->thread, NULL);
        free(s->chunk);
        s->chunk = NULL;
        v->joined++;
        s = next;
    }
}

/* Refuses the queued events of sessions without a thread. Sessions that have not started yet are included only if they
 * can no longer start. */
static void refuse_without_thread(struct supervisor *v)
{
    struct qt_engine *e = v->e;
    int gone = qt_stopping(e) && atomic_load(&e->feed.over);

    if (atomic_load(&e->schedule.zero_ns) == 0 || (v->no_threads == 0 && !gone))
        return;
    for (int64_t i = 0; i < e->table.n_sessions; i++) {
        struct qt_session *s = qt_session_at(e, i);
        struct qt_planned_event *ev;
        if (i < v->next ? !s->no_thread : !gone)
            continue;
        while ((ev = qt_session_take(s)) != NULL)
            qt_refuse_event(s, ev, i < v->next ? QT_CONNECT_FAILED : QT_STOPPED, NULL);
        qt_records_hand_over(s);
        free(s->chunk);
        s->chunk = NULL;
    }
}

static void wake_all(struct qt_engine *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        qt_wake(qt_session_at(e, i));
}

static void set_zero(struct supervisor *v)
{
    struct qt_engine *e = v->e;
    struct timespec real;
    int64_t now = qt_now(), ahead = qt_unpaced(e) || qt_stopping(e) ? 0 : WAKE_NS * (v->next + 50);
    int64_t go = atomic_load(&e->schedule.go_ns);

    if (go != 0 && !qt_stopping(e))
        ahead = go - now;
    else if (e->options.zero_at_ns > now + ahead && !qt_stopping(e))
        ahead = e->options.zero_at_ns - now;
    clock_gettime(CLOCK_REALTIME, &real);
    atomic_store(&e->schedule.zero_real_ns, real.tv_sec * QT_SECOND + real.tv_nsec + ahead);
    atomic_store(&e->schedule.zero_ns, now + ahead);
    atomic_store(&e->state, QT_ENGINE_RUNNING);
    qt_timer_probes_start(e, now + ahead);
    wake_all(e, v->next);
}

/* Shuts down all sockets. A session that still waits for an answer will not get it. */
static void cut_all(struct supervisor *v)
{
    struct qt_engine *e = v->e;

    atomic_store(&e->ending, 1);
    pthread_mutex_lock(&e->fd_lock);
    for (int64_t i = 0; i < e->table.n_sessions; i++) {
        qt_session_at(e, i)->cut = 1;
        if (qt_session_at(e, i)->fd >= 0)
            shutdown(qt_session_at(e, i)->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&e->fd_lock);
    wake_all(e, v->next);
    v->deadline_ns = QT_FOREVER;
}

static void begin_stop(struct supervisor *v, int32_t how, int64_t now)
{
    struct qt_engine *e = v->e;

    if (v->stop_seen == 0) {
        atomic_fetch_add(&e->feed.room_wakeups, 1);
        qt_futex_wake(&e->feed.room_wakeups, 1);
        if (atomic_load(&e->schedule.zero_ns) == 0)
            set_zero(v);
        atomic_store(&e->state, QT_ENGINE_DRAINING);
        v->deadline_ns = now + e->options.drain_ns;
        wake_all(e, v->next);
    }
    if (how > 1 && v->stop_seen < 2)
        cut_all(v);
    v->stop_seen = how;
}

/* Ends the feed after a stop, as soon as the feeder has noticed the stop. */
static void close_feed(struct supervisor *v)
{
    struct qt_engine *e = v->e;
    if (v->stop_seen == 0 || atomic_load(&e->feed.over) || atomic_load(&e->feed.pushing))
        return;
    atomic_store(&e->feed.over, 1);
    wake_all(e, v->next);
}

/* Returns a number that changes while answers arrive or a session is in its think time. */
static uint64_t sum_progress(struct qt_engine *e, int64_t now)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < e->table.n_sessions; i++) {
        sum += atomic_load_explicit(&qt_session_at(e, i)->executed, memory_order_relaxed);
        if (!qt_unpaced(e) && atomic_load(&qt_session_at(e, i)->sleep) == QT_WAITS_FOR_TIME)
            return (uint64_t)now;
    }
    return sum;
}

static int64_t pick_later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Sets the end of the drain. Without a schedule there is no last due time: the drain then ends after drain_ns without
 * progress. */
static void watch_drain(struct supervisor *v, int64_t now)
{
    struct qt_engine *e = v->e;
    int64_t last = atomic_load(&e->schedule.last_due_ns),
            opened = e->table.n_sessions > 0 ? qt_session_at(e, e->table.n_sessions - 1)->open_due_ns : 0;

    if (!atomic_load(&e->feed.over) || v->next < e->table.n_sessions || v->stop_seen || atomic_load(&e->ending))
        return;
    if (e->options.pace != QT_PACE_SCHEDULE) {
        uint64_t seen = sum_progress(e, now);
        if (seen != v->progress || v->progress_ns == 0)
            v->progress_ns = now;
        v->progress = seen;
        v->deadline_ns = v->progress_ns + e->options.drain_ns;
    } else {
        if (v->fed_ns == 0)
            v->fed_ns = now;
        v->last_due_ns = pick_later(qt_plan_to_clock(e, pick_later(last, opened)), v->fed_ns);
        v->deadline_ns = v->last_due_ns + e->options.drain_ns;
        if (now < v->last_due_ns)
            return;
    }
    atomic_store(&e->state, QT_ENGINE_DRAINING);
}

/* Sets the run's zero once the first sessions are connected and the first events are fed. Returns whether zero was
 * set. */
static int begin_when_ready(struct supervisor *v)
{
    struct qt_engine *e = v->e;

    if (atomic_load(&e->schedule.zero_ns) != 0 || v->next < e->table.n_ahead ||
        atomic_load(&e->threads.settled) < e->table.n_ahead || !atomic_load(&e->feed.primed))
        return 0;
    if (e->options.holds && atomic_load(&e->schedule.go_ns) == 0 && !qt_stopping(e)) {
        atomic_store(&e->state, QT_ENGINE_READY);
        return 0;
    }
    set_zero(v);
    return 1;
}

/* Performs all actions that are due. Returns the time of the next step, unless the supervisor is woken earlier. */
static int64_t do_step(struct supervisor *v)
{
    struct qt_engine *e = v->e;
    int64_t now = qt_now(), start_ns, zero;
    int32_t how = atomic_load(&e->stop);

    join_ended(v);
    if (how > v->stop_seen)
        begin_stop(v, how, now);
    close_feed(v);
    while ((start_ns = find_next_start(v, now)) <= now)
        start_session(v);
    if (begin_when_ready(v))
        return now;
    refuse_without_thread(v);
    zero = atomic_load(&e->schedule.zero_ns);
    if (zero != 0 && now >= zero)
        watch_drain(v, now);
    else if (zero != 0)
        start_ns = pick_earlier(start_ns, zero);
    if (now >= v->deadline_ns)
        cut_all(v);
    if (v->last_due_ns > now)
        start_ns = pick_earlier(start_ns, v->last_due_ns);
    if (v->no_threads > 0 || v->stop_seen)
        start_ns = pick_earlier(start_ns, now + NO_THREAD_NS);
    return pick_earlier(start_ns, v->deadline_ns);
}

int qt_engine_go(struct qt_engine *e, int64_t zero_ns, struct qt_error *err)
{
    int64_t none = 0;

    if (!e->options.holds || atomic_load(&e->state) != QT_ENGINE_READY)
        return qt_fail(err, QT_ESTATE, "the engine does not wait for a start time");
    if (zero_ns <= qt_now() + WAKE_NS * (e->table.n_ahead + 50))
        return qt_fail(err, QT_ESTATE, "the start time has passed, or leaves too little time to wake all sessions");
    if (!atomic_compare_exchange_strong(&e->schedule.go_ns, &none, zero_ns))
        return qt_fail(err, QT_ESTATE, "the engine already has a start time");
    qt_wake_supervisor(e);
    return QT_OK;
}

static int is_over(struct supervisor *v)
{
    struct qt_engine *e = v->e;
    return atomic_load(&e->schedule.zero_ns) != 0 && v->joined + v->no_threads == v->next &&
           atomic_load(&e->feed.over) && (v->next == e->table.n_sessions || qt_stopping(e));
}

void *qt_supervisor_run(void *arg)
{
    struct supervisor v = {.e = arg, .deadline_ns = QT_FOREVER};
    struct qt_engine *e = arg;
    struct timespec cpu;

    pthread_getcpuclockid(pthread_self(), &e->threads.supervisor_cpu);
    atomic_store(&e->threads.has_cpu_clock, 1);
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-supervisor", 0, 0, 0);
    while (!is_over(&v)) {
        uint32_t wakeups = atomic_load(&e->threads.wakeups);
        int64_t until = do_step(&v);
        if (!is_over(&v) && until > qt_now())
            qt_futex_wait(&e->threads.wakeups, wakeups, until);
    }
    refuse_without_thread(&v);
    qt_timer_probes_end(e);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_store(&e->threads.has_cpu_clock, 0);
    atomic_fetch_add(&e->threads.ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    atomic_store(&e->state, QT_ENGINE_DONE);
    qt_out_done(e);
    return NULL;
}

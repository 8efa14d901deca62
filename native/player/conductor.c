/* SPDX-License-Identifier: Apache-2.0 */
/* The conductor: one thread that opens and ends what others do.
 *
 *   OPENING   create the threads of sessions that are open at the start, at most connect_rate a second
 *      │      all connected or failed, and the feeder primed: set zero
 *   RUNNING   create each further thread a little before its session is due (max pace: when the tape has room for it)
 *      │      the feed has ended and the last event is due, or a stop
 *   DRAINING  until every thread ended, or the time is up: then shut their sockets and let them end
 *      │
 *   DONE
 *
 * It never connects nor waits for one session alone. It sleeps on `bell` until the next thing to do.
 */
#include "engine_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define AHEAD_NS (20 * 1000000LL)   /* a thread is created this long before it has to connect */
#define ORPHAN_NS (20 * 1000000LL)  /* how often sessions without a thread are looked after */
#define WAKE_NS 20000LL             /* what waking one thread takes, about */

struct show {
    struct qt_engine *e;
    int64_t next, joined, orphans;
    int64_t deadline_ns;       /* of the drain; QT_FOREVER = none yet */
    uint64_t progress;         /* max pace: outcomes when last looked at */
    int64_t progress_ns;
    int64_t last_due_ns;       /* absolute, once the feed has ended: the drain begins */
    int32_t stop_seen;         /* the greatest stop that was acted upon */
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* A session whose thread could not be created: the conductor refuses its events. */
static void orphan(struct show *sh, struct qt_session *s, int error)
{
    s->orphaned = 1;
    s->error_code = error;
    s->error = strdup("the system refused another thread");
    sh->orphans++;
    atomic_fetch_add(&sh->e->failed, 1);
    atomic_fetch_add(&sh->e->settled, 1);
}

static void spawn(struct show *sh)
{
    struct qt_engine *e = sh->e;
    struct qt_session *s = &e->session[sh->next++];
    int error = qt_thread_start(&s->thread, e->options.stack_bytes, qt_session_run, s);

    atomic_fetch_add(&e->spawned, 1);
    if (error != 0)
        orphan(sh, s, error);
}

/* The time at which the next session's thread is to be created; QT_FOREVER = something else must happen first. */
static int64_t next_spawn_ns(struct show *sh, int64_t now)
{
    struct qt_engine *e = sh->e;
    int64_t zero = atomic_load(&e->zero_ns), most;

    if (sh->next == e->n_sessions || qt_stopping(e))
        return QT_FOREVER;
    if (sh->next < e->n_ahead)
        return e->start_ns + (int64_t)((double)sh->next * (double)QT_SECOND / (double)e->options.connect_rate);
    if (zero == 0)
        return QT_FOREVER;
    if (!qt_unpaced(e))
        return qt_clock_of(e, e->session[sh->next].open_due_ns) - AHEAD_NS;
    most = e->options.max_open > 0 ? e->options.max_open : e->session[sh->next].concurrency;
    if (sh->next >= atomic_load(&e->announced) || sh->next - sh->joined - sh->orphans >= most)
        return QT_FOREVER;
    return now;
}

static void join_ended(struct show *sh)
{
    struct qt_session *s = atomic_exchange(&sh->e->ended_list, NULL);
    while (s != NULL) {
        struct qt_session *next = s->next_ended;
        pthread_join(s->thread, NULL);
        free(s->chunk);
        s->chunk = NULL;
        sh->joined++;
        s = next;
    }
}

/* Refuses what waits for sessions that have no thread; those not created yet only where there will be none any more. */
static void look_after_orphans(struct show *sh)
{
    struct qt_engine *e = sh->e;
    int gone = qt_stopping(e) && atomic_load(&e->feed_over);

    if (atomic_load(&e->zero_ns) == 0 || (sh->orphans == 0 && !gone))
        return;
    for (int64_t i = 0; i < e->n_sessions; i++) {
        struct qt_session *s = &e->session[i];
        struct qt_event *ev;
        if (i < sh->next ? !s->orphaned : !gone)
            continue;
        while ((ev = qt_session_take(s)) != NULL)
            qt_session_refuse(s, ev, i < sh->next ? QT_CONNECT_FAILED : QT_STOPPED);
        qt_records_hand_over(s);
        free(s->chunk);
        s->chunk = NULL;
    }
}

static void wake_all(struct qt_engine *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        qt_wake(&e->session[i]);
}

static void set_zero(struct show *sh)
{
    struct qt_engine *e = sh->e;
    struct timespec real;
    int64_t now = qt_now(), ahead = qt_unpaced(e) || qt_stopping(e) ? 0 : WAKE_NS * (sh->next + 50);

    if (e->options.zero_at_ns > now + ahead && !qt_stopping(e))
        ahead = e->options.zero_at_ns - now;
    clock_gettime(CLOCK_REALTIME, &real);
    atomic_store(&e->zero_real_ns, real.tv_sec * QT_SECOND + real.tv_nsec + ahead);
    atomic_store(&e->zero_ns, now + ahead);
    atomic_store(&e->state, QT_ENGINE_RUNNING);
    qt_canaries_start(e, now + ahead);
    wake_all(e, sh->next);
}

/* From here on a session that still waits for an answer gets none. */
static void cut_all(struct show *sh)
{
    struct qt_engine *e = sh->e;

    atomic_store(&e->ending, 1);
    pthread_mutex_lock(&e->fd_lock);
    for (int64_t i = 0; i < e->n_sessions; i++) {
        e->session[i].cut = 1;
        if (e->session[i].fd >= 0)
            shutdown(e->session[i].fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&e->fd_lock);
    wake_all(e, sh->next);
    sh->deadline_ns = QT_FOREVER;
}

static void on_stop(struct show *sh, int32_t how, int64_t now)
{
    struct qt_engine *e = sh->e;

    if (sh->stop_seen == 0) {
        atomic_fetch_add(&e->room_bell, 1);
        qt_futex_wake(&e->room_bell, 1);
        if (atomic_load(&e->zero_ns) == 0)
            set_zero(sh);
        atomic_store(&e->state, QT_ENGINE_DRAINING);
        sh->deadline_ns = now + e->options.drain_ns;
        wake_all(e, sh->next);
    }
    if (how > 1 && sh->stop_seen < 2)
        cut_all(sh);
    sh->stop_seen = how;
}

/* After a stop nothing more is fed, once the feeder has seen it. */
static void close_feed(struct show *sh)
{
    struct qt_engine *e = sh->e;
    if (sh->stop_seen == 0 || atomic_load(&e->feed_over) || atomic_load(&e->pushing))
        return;
    atomic_store(&e->feed_over, 1);
    wake_all(e, sh->next);
}

/* Changes while something comes, or a session is at its think time. */
static uint64_t progress(struct qt_engine *e, int64_t now)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < e->n_sessions; i++) {
        sum += atomic_load_explicit(&e->session[i].executed, memory_order_relaxed);
        if (!qt_unpaced(e) && atomic_load(&e->session[i].sleep) == QT_WAITS_FOR_TIME)
            return (uint64_t)now;
    }
    return sum;
}

/* When the drain is over. Without a schedule nothing tells the end: it is over when nothing came for as long. */
static void watch_drain(struct show *sh, int64_t now)
{
    struct qt_engine *e = sh->e;
    int64_t last = atomic_load(&e->last_due_ns), opened = e->n_sessions > 0 ? e->session[e->n_sessions - 1].open_due_ns : 0;

    if (!atomic_load(&e->feed_over) || sh->next < e->n_sessions || sh->stop_seen || atomic_load(&e->ending))
        return;
    if (e->options.pace != QT_PACE_SCHEDULE) {
        uint64_t seen = progress(e, now);
        if (seen != sh->progress || sh->progress_ns == 0)
            sh->progress_ns = now;
        sh->progress = seen;
        sh->deadline_ns = sh->progress_ns + e->options.drain_ns;
    } else {
        sh->last_due_ns = qt_clock_of(e, last > opened ? last : opened);
        sh->deadline_ns = sh->last_due_ns + e->options.drain_ns;
        if (now < sh->last_due_ns)
            return;
    }
    atomic_store(&e->state, QT_ENGINE_DRAINING);
}

/* Does what is to be done now; returns when to look again without being rung for. */
static int64_t step(struct show *sh)
{
    struct qt_engine *e = sh->e;
    int64_t now = qt_now(), spawn_ns;
    int32_t how = atomic_load(&e->stop);

    join_ended(sh);
    if (how > sh->stop_seen)
        on_stop(sh, how, now);
    close_feed(sh);
    while ((spawn_ns = next_spawn_ns(sh, now)) <= now)
        spawn(sh);
    if (atomic_load(&e->zero_ns) == 0 && sh->next >= e->n_ahead && atomic_load(&e->settled) >= e->n_ahead &&
        atomic_load(&e->primed)) {
        set_zero(sh);
        return now;
    }
    look_after_orphans(sh);
    if (atomic_load(&e->zero_ns) != 0)
        watch_drain(sh, now);
    if (now >= sh->deadline_ns)
        cut_all(sh);
    if (sh->last_due_ns > now)
        spawn_ns = min64(spawn_ns, sh->last_due_ns);
    if (sh->orphans > 0 || sh->stop_seen)
        spawn_ns = min64(spawn_ns, now + ORPHAN_NS);
    return min64(spawn_ns, sh->deadline_ns);
}

static int is_over(struct show *sh)
{
    struct qt_engine *e = sh->e;
    return atomic_load(&e->zero_ns) != 0 && sh->joined + sh->orphans == sh->next && atomic_load(&e->feed_over) &&
           (sh->next == e->n_sessions || qt_stopping(e));
}

void *qt_conductor_run(void *arg)
{
    struct show sh = {.e = arg, .deadline_ns = QT_FOREVER};
    struct qt_engine *e = arg;
    struct timespec cpu;

    pthread_getcpuclockid(pthread_self(), &e->conductor_cpu);
    atomic_store(&e->has_cpu_clock, 1);
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-conductor", 0, 0, 0);
    while (!is_over(&sh)) {
        uint32_t bell = atomic_load(&e->bell);
        int64_t until = step(&sh);
        if (!is_over(&sh) && until > qt_now())
            qt_futex_wait(&e->bell, bell, until);
    }
    look_after_orphans(&sh);
    qt_canaries_end(e);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_store(&e->has_cpu_clock, 0);
    atomic_fetch_add(&e->ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    atomic_store(&e->state, QT_ENGINE_DONE);
    qt_out_done(e);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Computes when to send an event.
 *
 *   schedule  zero + due                                          whatever happened before
 *   think     first event: zero + due; then end of the previous answer + (due - end of the previous event on the tape)
 *   none      nothing is due
 *
 * The plan may run faster or slower than planned (qt_engine_set_speed). Plan time is then a linear function of clock
 * time from the last change on. A thread that sleeps until a due time computes the time again when it wakes. While the
 * plan is paused, nothing is sent, not even overdue events. The pause does not count as lateness. */
#include "engine/pace.h"

#include "engine/queue.h"

#define MAX_SPEED 1e6

int64_t qt_plan_to_clock(struct qt_engine *e, int64_t plan_ns)
{
    struct qt_speed *t = &e->schedule.speed;
    int64_t zero = atomic_load_explicit(&e->schedule.zero_ns, memory_order_relaxed), at;

    if (atomic_load(&t->changes) == 0)
        return zero + plan_ns;
    pthread_mutex_lock(&t->lock);
    if (atomic_load(&t->paused) && plan_ns > t->plan_ns)
        at = QT_PAUSED;
    else
        at = zero + t->real_ns + (int64_t)((double)(plan_ns - t->plan_ns) / t->factor);
    pthread_mutex_unlock(&t->lock);
    return at;
}

int64_t qt_stood_ns(struct qt_engine *e)
{
    struct qt_speed *t = &e->schedule.speed;
    int64_t zero = atomic_load(&e->schedule.zero_ns), stood, now;

    if (atomic_load(&t->changes) == 0)
        return 0;
    pthread_mutex_lock(&t->lock);
    now = zero == 0 ? 0 : qt_now() - zero;
    stood = t->stood_ns;
    if (atomic_load(&t->paused) && now > t->real_ns)
        stood += now - t->real_ns;
    pthread_mutex_unlock(&t->lock);
    return stood;
}

int qt_is_paused(struct qt_engine *e) { return atomic_load(&e->schedule.speed.paused); }

int64_t qt_clock_to_plan(struct qt_engine *e, int64_t clock_ns)
{
    struct qt_speed *t = &e->schedule.speed;
    int64_t real_ns = clock_ns - atomic_load_explicit(&e->schedule.zero_ns, memory_order_relaxed), at;

    pthread_mutex_lock(&t->lock);
    at = t->plan_ns;
    if (!atomic_load(&t->paused)) /* while paused, plan time does not advance */
        at += (int64_t)((double)(real_ns - t->real_ns) * t->factor);
    pthread_mutex_unlock(&t->lock);
    return at;
}

/* Converts a duration from plan time to clock time. */
static int64_t scale_length(struct qt_engine *e, int64_t ns)
{
    double factor;
    if (atomic_load(&e->schedule.speed.changes) == 0)
        return ns;
    pthread_mutex_lock(&e->schedule.speed.lock);
    factor = e->schedule.speed.factor;
    pthread_mutex_unlock(&e->schedule.speed.lock);
    return (int64_t)((double)ns / factor);
}

int64_t qt_compute_due(struct qt_session *s, const struct qt_planned_event *ev)
{
    struct qt_engine *e = s->engine;
    int64_t think;

    if (qt_unpaced(e))
        return QT_NONE;
    if (e->options.pace == QT_PACE_SCHEDULE || s->tape_end_ns == QT_NONE)
        return qt_plan_to_clock(e, ev->due_ns);
    think = ev->due_ns - s->tape_end_ns;
    return s->answered_ns + scale_length(e, think > 0 ? think : 0) + qt_stood_ns(e) - s->answered_stood_ns;
}

int64_t qt_sleep_until_due(struct qt_session *s, const struct qt_planned_event *ev)
{
    for (;;) {
        uint32_t seen = atomic_load(&s->engine->schedule.speed.changes);
        int64_t due = qt_is_paused(s->engine) ? QT_PAUSED : qt_compute_due(s, ev), now = qt_now();
        if (now >= due || qt_stopping(s->engine))
            return now;
        qt_sleep_once(s, due, seen);
    }
}

void qt_sleep_until_open(struct qt_session *s)
{
    for (;;) {
        uint32_t seen = atomic_load(&s->engine->schedule.speed.changes);
        int64_t due = qt_plan_to_clock(s->engine, s->open_due_ns);
        if (qt_now() >= due || qt_stopping(s->engine))
            return;
        qt_sleep_once(s, due, seen);
    }
}

static void wake_sleepers(struct qt_engine *e)
{
    for (int64_t i = 0; i < e->table.n_sessions; i++)
        if (atomic_load(&qt_session_at(e, i)->sleep) == QT_WAITS_FOR_TIME)
            qt_wake(qt_session_at(e, i));
}

int qt_engine_set_speed(struct qt_engine *e, double factor, struct qt_error *err)
{
    struct qt_speed *t = &e->schedule.speed;
    int64_t zero = atomic_load(&e->schedule.zero_ns), now;

    if (factor != 0 && !(factor >= 1 / MAX_SPEED && factor <= MAX_SPEED))
        return qt_fail(err, QT_EINVALID, "expected a speed factor from 0.000001 to 1000000, found %g", factor);
    if (qt_unpaced(e))
        return qt_fail(err, QT_ESTATE, "the speed cannot be changed, because events have no due time at this pace");
    pthread_mutex_lock(&t->lock);
    now = zero == 0 ? 0 : qt_now() - zero;
    if (now > t->real_ns) {
        if (atomic_load(&t->paused))
            t->stood_ns += now - t->real_ns;
        else
            t->plan_ns += (int64_t)((double)(now - t->real_ns) * t->factor);
        t->real_ns = now;
    }
    atomic_store(&t->paused, factor == 0);
    if (factor != 0)
        t->factor = factor;
    pthread_mutex_unlock(&t->lock);
    atomic_fetch_add(&t->changes, 1);
    wake_sleepers(e);
    qt_wake_supervisor(e);
    return QT_OK;
}

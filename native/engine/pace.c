/* SPDX-License-Identifier: Apache-2.0 */
/* When an event is to be sent.
 *
 *   schedule  zero + due                                          whatever happened before
 *   think     first event: zero + due; then end of the answer before + (due - end of the event before on the tape)
 *   none      nothing is due
 *
 * The plan's time may run faster or slower than planned (qt_engine_set_speed): a line through the moment of the last
 * change. A thread that sleeps until a due time computes it again when it is woken.
 */
#include "engine/pace.h"

#include "engine/queue.h"

#define MAX_SPEED 1e6

int64_t qt_plan_to_clock(struct qt_engine *e, int64_t plan_ns)
{
    struct qt_speed *t = &e->speed;
    int64_t zero = atomic_load_explicit(&e->zero_ns, memory_order_relaxed), at;

    if (atomic_load(&t->changes) == 0)
        return zero + plan_ns;
    pthread_mutex_lock(&t->lock);
    at = zero + t->real_ns + (int64_t)((double)(plan_ns - t->plan_ns) / t->factor);
    pthread_mutex_unlock(&t->lock);
    return at;
}

/* A length of the plan's time in the clock's time. */
static int64_t scale_length(struct qt_engine *e, int64_t ns)
{
    double factor;
    if (atomic_load(&e->speed.changes) == 0)
        return ns;
    pthread_mutex_lock(&e->speed.lock);
    factor = e->speed.factor;
    pthread_mutex_unlock(&e->speed.lock);
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
    return s->answered_ns + scale_length(e, think > 0 ? think : 0);
}

int64_t qt_sleep_until_due(struct qt_session *s, const struct qt_planned_event *ev)
{
    for (;;) {
        uint32_t seen = atomic_load(&s->engine->speed.changes);
        int64_t due = qt_compute_due(s, ev), now = qt_now();
        if (now >= due || qt_stopping(s->engine))
            return now;
        qt_sleep_once(s, due, seen);
    }
}

static void wake_sleepers(struct qt_engine *e)
{
    for (int64_t i = 0; i < e->n_sessions; i++)
        if (atomic_load(&qt_session_at(e, i)->sleep) == QT_WAITS_FOR_TIME)
            qt_wake(qt_session_at(e, i));
}

int qt_engine_set_speed(struct qt_engine *e, double factor, struct qt_error *err)
{
    struct qt_speed *t = &e->speed;
    int64_t zero = atomic_load(&e->zero_ns), now;

    if (!(factor >= 1 / MAX_SPEED && factor <= MAX_SPEED))
        return qt_fail(err, QT_EINVALID, "expected a speed between a millionth and a million, found %g", factor);
    if (qt_unpaced(e))
        return qt_fail(err, QT_ESTATE, "nothing is due at this pace: there is no speed to change");
    pthread_mutex_lock(&t->lock);
    now = zero == 0 ? 0 : qt_now() - zero;
    if (now > t->real_ns) {
        t->plan_ns += (int64_t)((double)(now - t->real_ns) * t->factor);
        t->real_ns = now;
    }
    t->factor = factor;
    pthread_mutex_unlock(&t->lock);
    atomic_fetch_add(&t->changes, 1);
    wake_sleepers(e);
    qt_wake_supervisor(e);
    return QT_OK;
}

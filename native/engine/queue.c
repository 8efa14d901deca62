/* SPDX-License-Identifier: Apache-2.0 */
/* A session's queue from the view of its thread, and how the thread sleeps.
 *
 *   feeder: push on `inbox` (newest first), then check `sleep`    ─► wake
 *   session: `sleep` = reason for sleeping, then check `inbox`    ─► futex
 *
 * Each side writes its own word before it reads the other's word. Both use sequentially consistent atomics, so at least
 * one of them sees the other's write. */
#include "engine/queue.h"

#include <stdlib.h>

#include "engine/outcomes.h"

#define LONG_WAIT_NS (QT_SECOND / 2) /* before a longer wait, records are handed over */

struct qt_planned_event *qt_session_take(struct qt_session *s)
{
    struct qt_planned_event *e, *newest;

    if (s->ready == NULL) {
        newest = atomic_exchange(&s->inbox, NULL);
        while (newest != NULL) {
            e = newest;
            newest = e->next;
            e->next = s->ready;
            s->ready = e;
        }
    }
    e = s->ready;
    if (e != NULL) {
        s->ready = e->next;
        s->taken++;
    }
    return e;
}

void qt_event_free(struct qt_session *s, struct qt_planned_event *ev)
{
    struct qt_engine *e = s->engine;
    int64_t size = qt_planned_event_size(ev);
    int64_t left = atomic_fetch_sub(&e->feed.queued, size) - size;

    free(ev);
    if (left <= atomic_load(&e->feed.room_at)) {
        atomic_fetch_add(&e->feed.room_wakeups, 1);
        qt_futex_wake(&e->feed.room_wakeups, 1);
    }
}

static int has_event_or_end(struct qt_session *s)
{
    return atomic_load(&s->inbox) != NULL || atomic_load(&s->engine->feed.over);
}

int64_t qt_await_zero(struct qt_session *s)
{
    int64_t zero;
    while ((zero = atomic_load(&s->engine->schedule.zero_ns)) == 0) {
        atomic_store(&s->sleep, QT_WAITS_FOR_ZERO);
        if (atomic_load(&s->engine->schedule.zero_ns) == 0)
            qt_futex_wait(&s->sleep, QT_WAITS_FOR_ZERO, QT_FOREVER);
    }
    return zero;
}

void qt_sleep_once(struct qt_session *s, int64_t until_ns, uint32_t speed_seen)
{
    struct qt_engine *e = s->engine;
    if (until_ns - qt_now() > LONG_WAIT_NS)
        qt_records_hand_over(s);
    atomic_store(&s->sleep, QT_WAITS_FOR_TIME);
    if (!qt_stopping(e) && atomic_load(&e->schedule.speed.changes) == speed_seen)
        qt_futex_wait(&s->sleep, QT_WAITS_FOR_TIME, until_ns);
    atomic_store(&s->sleep, QT_AWAKE);
}

int64_t qt_sleep_until(struct qt_session *s, int64_t until_ns)
{
    int64_t now = qt_now();
    while (now < until_ns && !qt_stopping(s->engine)) {
        qt_sleep_once(s, until_ns, atomic_load(&s->engine->schedule.speed.changes));
        now = qt_now();
    }
    return now;
}

int qt_comes_within(struct qt_session *s, int64_t ns)
{
    int64_t until = qt_now() + ns, look_ns = ns < LONG_WAIT_NS ? ns : LONG_WAIT_NS;

    while (s->ready == NULL && !has_event_or_end(s)) {
        int64_t now = qt_now();
        if (now >= until)
            return 0;
        if (now > until - ns + look_ns)
            qt_records_hand_over(s);
        atomic_store(&s->sleep, QT_WAITS_FOR_EVENT);
        if (!has_event_or_end(s))
            qt_futex_wait(&s->sleep, QT_WAITS_FOR_EVENT, now + look_ns < until ? now + look_ns : until);
        atomic_store(&s->sleep, QT_AWAKE);
    }
    return 1;
}

struct qt_planned_event *qt_next_event(struct qt_session *s)
{
    int64_t until = 0;

    while (s->engine->options.follows || s->taken < s->planned) {
        int over = atomic_load(&s->engine->feed.over);
        struct qt_planned_event *ev = qt_session_take(s);
        if (ev != NULL || over)
            return ev;
        if (until == 0)
            until = qt_now() + LONG_WAIT_NS;
        else if (until != QT_FOREVER && qt_now() >= until)
            until = QT_FOREVER;
        if (until == QT_FOREVER)
            qt_records_hand_over(s);
        atomic_store(&s->sleep, QT_WAITS_FOR_EVENT);
        if (!has_event_or_end(s))
            qt_futex_wait(&s->sleep, QT_WAITS_FOR_EVENT, until);
        atomic_store(&s->sleep, QT_AWAKE);
    }
    return NULL;
}

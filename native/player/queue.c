/* SPDX-License-Identifier: Apache-2.0 */
/* A session's queue, seen from its thread, and how it sleeps.
 *
 *   feeder: push on `inbox` (newest first), then look at `sleep` ─► wake
 *   session: `sleep` = what it waits for, then look at `inbox`    ─► futex
 *
 * Each side writes before it looks at the other's word, both sequentially consistent: one of them always sees the other.
 */
#include "engine_private.h"

#include <stdlib.h>

#define LONG_WAIT_NS (QT_SECOND / 2) /* before a wait longer than this, records are handed over */

struct qt_event *qt_session_take(struct qt_session *s)
{
    struct qt_event *e, *newest;

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

void qt_event_free(struct qt_session *s, struct qt_event *ev)
{
    struct qt_engine *e = s->engine;
    int64_t size = qt_event_size(ev);
    int64_t left = atomic_fetch_sub(&e->queued, size) - size;

    free(ev);
    if (left <= atomic_load(&e->room_at)) {
        atomic_fetch_add(&e->room_bell, 1);
        qt_futex_wake(&e->room_bell, 1);
    }
}

struct qt_record *qt_note(struct qt_session *s, const struct qt_event *ev, int64_t now_ns)
{
    struct qt_record *r = qt_record_new(s, now_ns);
    if (r == NULL)
        return NULL;
    *r = (struct qt_record){
        .session = s->id,
        .seq = ev->seq,
        .due_ns = qt_unpaced(s->engine) ? QT_NONE : ev->due_ns,
        .fed_ns = qt_from_zero(s->engine, ev->fed_ns),
        .free_ns = QT_NONE,
        .sent_ns = QT_NONE,
        .first_ns = QT_NONE,
        .done_ns = QT_NONE,
        .rows = QT_NONE,
        .affected = QT_NONE,
        .bytes = QT_NONE,
        .warnings = QT_NONE,
        .order_ns = QT_NONE,
    };
    return r;
}

void qt_session_refuse(struct qt_session *s, struct qt_event *ev, enum qt_reason reason)
{
    struct qt_record *r = qt_note(s, ev, qt_now());
    if (r != NULL)
        r->reason = reason;
    qt_bump(&s->not_sent);
    s->tape_end_ns = ev->due_ns + ev->span_ns;
    qt_order_done(s->engine, ev);
    qt_event_free(s, ev);
}

static int event_there(struct qt_session *s)
{
    return atomic_load(&s->inbox) != NULL || atomic_load(&s->engine->feed_over);
}

int64_t qt_await_zero(struct qt_session *s)
{
    int64_t zero;
    while ((zero = atomic_load(&s->engine->zero_ns)) == 0) {
        atomic_store(&s->sleep, QT_WAITS_FOR_ZERO);
        if (atomic_load(&s->engine->zero_ns) == 0)
            qt_futex_wait(&s->sleep, QT_WAITS_FOR_ZERO, QT_FOREVER);
    }
    return zero;
}

void qt_nap(struct qt_session *s, int64_t until_ns, uint32_t tempo_seen)
{
    struct qt_engine *e = s->engine;
    if (until_ns - qt_now() > LONG_WAIT_NS)
        qt_records_hand_over(s);
    atomic_store(&s->sleep, QT_WAITS_FOR_TIME);
    if (!qt_stopping(e) && atomic_load(&e->tempo.changes) == tempo_seen)
        qt_futex_wait(&s->sleep, QT_WAITS_FOR_TIME, until_ns);
    atomic_store(&s->sleep, QT_AWAKE);
}

int64_t qt_sleep_until(struct qt_session *s, int64_t until_ns)
{
    int64_t now = qt_now();
    while (now < until_ns && !qt_stopping(s->engine)) {
        qt_nap(s, until_ns, atomic_load(&s->engine->tempo.changes));
        now = qt_now();
    }
    return now;
}

struct qt_event *qt_next_event(struct qt_session *s)
{
    int64_t until = 0;

    while (s->taken < s->planned) {
        int over = atomic_load(&s->engine->feed_over);
        struct qt_event *ev = qt_session_take(s);
        if (ev != NULL || over)
            return ev;
        if (until == 0)
            until = qt_now() + LONG_WAIT_NS;
        else if (until != QT_FOREVER && qt_now() >= until)
            until = QT_FOREVER;
        if (until == QT_FOREVER)
            qt_records_hand_over(s);
        atomic_store(&s->sleep, QT_WAITS_FOR_EVENT);
        if (!event_there(s))
            qt_futex_wait(&s->sleep, QT_WAITS_FOR_EVENT, until);
        atomic_store(&s->sleep, QT_AWAKE);
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Meters of a run:
 *
 *   session threads ──► counts: the engine's histograms (atomics, as many threads note)  ──┐
 *        │              sums: the session's own (one writer)                               ├─► qt_engine_meters
 *        └─ errors ───► a slot of the engine for each number                             ──┘
 *
 * An event's lateness in parts, as in analyze/sql/report/lateness.sql:
 *
 *   due ──session, connect──► ──order──► free ──feeder──► queued ──tool──► sent
 */
#include "engine/meters.h"

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t qt_counting_sessions(struct qt_engine *e)
{
    /* After a stop the supervisor refuses for sessions that never got a thread: those come after `spawned`. */
    if (atomic_load(&e->state) == QT_ENGINE_DONE || qt_stopping(e))
        return e->n_sessions;
    return atomic_load(&e->spawned);
}

static void note_delay(struct qt_session *s, enum qt_lateness cause, int64_t ns)
{
    if (ns <= 0)
        return;
    qt_histogram_note(&s->engine->delay[cause], ns);
    qt_raise(&s->delay_ns[cause], (uint64_t)ns);
}

static void meter_lateness(struct qt_session *s, const struct qt_planned_event *ev, int64_t due, int64_t sent)
{
    int64_t free_at = later(due, s->free_ns), ready = later(free_at, ev->queued_ns);
    int64_t held = free_at - due, ordered = held < s->order_ns ? held : s->order_ns;
    int first = atomic_load_explicit(&s->executed, memory_order_relaxed) == 0;

    note_delay(s, QT_LATE_ORDER, ordered);
    note_delay(s, first ? QT_LATE_CONNECT : QT_LATE_SESSION, held - ordered);
    note_delay(s, QT_LATE_FEEDER, ready - free_at);
    qt_raise(&s->delay_ns[QT_LATE_TOOL], (uint64_t)later(sent - ready, 0));
    qt_histogram_note(&s->engine->late, sent - due);
}

void qt_meter_event(struct qt_session *s, const struct qt_planned_event *ev, int64_t due, int64_t sent, int64_t done)
{
    int64_t able = later(ev->queued_ns, s->free_ns);
    enum qt_kind kind = ev->class == QT_CLASS_READ    ? QT_KIND_READ
                        : ev->class == QT_CLASS_WRITE ? QT_KIND_WRITE
                                                      : QT_KIND_OTHER;

    if (done != 0) {
        qt_histogram_note(&s->engine->service[kind], done - sent);
        qt_raise(&s->service_ns[kind], (uint64_t)later(done - sent, 0));
    }
    if (due != QT_NONE)
        meter_lateness(s, ev, due, sent);
    qt_histogram_note(&s->engine->tool, sent - later(due, able));
}

void qt_meter_error(struct qt_engine *e, int32_t number)
{
    struct qt_error_counts *c = &e->error_counts;

    for (uint32_t i = 0, at = (uint32_t)number; i < QT_METER_ERRORS; i++, at++) {
        _Atomic int32_t *slot = &c->number[at % QT_METER_ERRORS];
        int32_t there = atomic_load(slot);
        if (there == 0 && atomic_compare_exchange_strong(slot, &there, number))
            there = number;
        if (there == number) {
            atomic_fetch_add(&c->count[at % QT_METER_ERRORS], 1);
            return;
        }
    }
    atomic_fetch_add(&c->elsewhere, 1);
}

static void read_histogram(const struct qt_histogram *h, struct qt_meter *out)
{
    out->all = qt_histogram_below(h, QT_METER_FIRST, QT_METER_BOUNDS, out->below);
}

static void read_errors(struct qt_error_counts *c, struct qt_engine_meters *out)
{
    for (int i = 0; i < QT_METER_ERRORS; i++) {
        int32_t number = atomic_load(&c->number[i]);
        if (number == 0)
            continue;
        out->error_number[out->n_errors] = number;
        out->error_count[out->n_errors++] = atomic_load(&c->count[i]);
    }
    out->errors_elsewhere = atomic_load(&c->elsewhere);
}

static void add_sums(struct qt_engine *e, struct qt_engine_meters *out)
{
    int64_t n = qt_counting_sessions(e);

    for (int64_t i = 0; i < n; i++) {
        struct qt_session *s = qt_session_at(e, i);
        for (int k = 0; k < QT_KINDS; k++)
            out->service[k].sum_ns += (int64_t)atomic_load_explicit(&s->service_ns[k], memory_order_relaxed);
        for (int c = 0; c < QT_CAUSES; c++)
            out->delay[c].sum_ns += (int64_t)atomic_load_explicit(&s->delay_ns[c], memory_order_relaxed);
    }
    for (int c = 0; c < QT_CAUSES; c++)
        out->late.sum_ns += out->delay[c].sum_ns;
}

void qt_engine_meters(struct qt_engine *e, struct qt_engine_meters *out)
{
    memset(out, 0, sizeof *out);
    for (int k = 0; k < QT_KINDS; k++)
        read_histogram(&e->service[k], &out->service[k]);
    if (!qt_unpaced(e)) { /* else nothing is due */
        read_histogram(&e->late, &out->late);
        for (int c = 0; c < QT_LATE_TOOL; c++)
            read_histogram(&e->delay[c], &out->delay[c]);
        read_histogram(&e->tool, &out->delay[QT_LATE_TOOL]);
    }
    out->last_due_ns = atomic_load(&e->last_due_ns);
    read_errors(&e->error_counts, out);
    add_sums(e, out);
}

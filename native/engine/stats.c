/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a run, read while it runs:
 *
 *   engine    one array, by enum qt_counter: rare events
 *   sessions  counted with each event: one set per session, with a single writer; added up here
 *   threads   CPU time: running threads have a clock; the time of ended threads was added up at their end
 *   quantiles from the histograms: of the whole run, or of the time since the previous call */
#include "engine/stats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/thread.h"
#include "engine/pace.h"

/* Returns the CPU time of a running thread in nanoseconds, or 0 if it has just ended. */
static int64_t read_cpu_clock(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? t.tv_sec * QT_SECOND + t.tv_nsec : 0;
}

static void add_sessions(struct qt_engine *e, struct qt_engine_stats *out)
{
    struct qt_engine_counts *c = &out->counts;
    int64_t n = qt_counting_sessions(e);

    for (int64_t i = 0; i < n; i++) {
        struct qt_session *s = qt_session_at(e, i);
        c->not_sent += atomic_load_explicit(&s->not_sent, memory_order_relaxed);
        c->reads += atomic_load_explicit(&s->reads, memory_order_relaxed);
        c->writes += atomic_load_explicit(&s->writes, memory_order_relaxed);
        c->others += atomic_load_explicit(&s->others, memory_order_relaxed);
        c->errors += atomic_load_explicit(&s->errors, memory_order_relaxed);
        c->injected += atomic_load_explicit(&s->injected, memory_order_relaxed);
        if (atomic_load(&s->life) == QT_LIVE)
            out->engine_cpu_ns += read_cpu_clock(s->cpu_clock);
    }
    /* The total is the sum of the classes. A separate counter could be smaller than that sum, because sessions count
     * while the counters are read. */
    c->executed = c->reads + c->writes + c->others;
}

static void add_quantiles(struct qt_engine *e, struct qt_engine_stats *out)
{
    out->tool_p50_ns = qt_histogram_quantile(&e->measured.tool, 1, NULL, 0.5);
    out->tool_p99_ns = qt_histogram_quantile(&e->measured.tool, 1, NULL, 0.99);
    out->tool_p999_ns = qt_histogram_quantile(&e->measured.tool, 1, NULL, 0.999);
    out->probe_p50_ns = qt_histogram_quantile(&e->measured.probe_late, 1, NULL, 0.5);
    out->probe_p99_ns = qt_histogram_quantile(&e->measured.probe_late, 1, NULL, 0.99);
    out->probe_p999_ns = qt_histogram_quantile(&e->measured.probe_late, 1, NULL, 0.999);
}

void qt_engine_stats(struct qt_engine *e, struct qt_engine_stats *out)
{
    qt_engine_peek(e, out);
    pthread_mutex_lock(&e->measured.lock);
    out->p95_ns = qt_histogram_quantile(e->measured.service, QT_KINDS, e->measured.service_before, 0.95);
    out->late_p99_ns = qt_histogram_quantile(&e->measured.late, 1, e->measured.late_before, 0.99);
    pthread_mutex_unlock(&e->measured.lock);
}

void qt_engine_peek(struct qt_engine *e, struct qt_engine_stats *out)
{
    int64_t zero = atomic_load(&e->schedule.zero_ns);
    uint64_t counts[QT_COUNTERS];
    _Static_assert(sizeof counts == sizeof out->counts, "each counter is one field of the struct");

    memset(out, 0, sizeof *out);
    out->p95_ns = out->late_p99_ns = -1;
    for (int which = 0; which < QT_COUNTERS; which++)
        counts[which] = (uint64_t)qt_counted(e, which);
    memcpy(&out->counts, counts, sizeof counts);
    out->sessions_open = (uint64_t)atomic_load(&e->threads.open);
    out->ended_by = atomic_load(&e->ended_by);
    out->queued_bytes = (uint64_t)atomic_load(&e->feed.queued);
    out->now_ns = zero == 0 ? -1 : qt_now() - zero;
    out->zero_real_ns = atomic_load(&e->schedule.zero_real_ns);
    out->state = atomic_load(&e->state);
    out->engine_cpu_ns = atomic_load(&e->threads.ended_cpu_ns);
    if (atomic_load(&e->threads.has_cpu_clock))
        out->engine_cpu_ns += read_cpu_clock(e->threads.supervisor_cpu);
    add_sessions(e, out);
    add_quantiles(e, out);
}

/* Meters of a run:
 *
 *   session threads ──► counts: the engine's histograms (atomics, as many threads note)  ──┐
 *        │              sums: the session's own (one writer)                               ├─► qt_engine_meters
 *        └─ errors ───► a slot of the engine for each number                             ──┘
 *
 * The parts of an event's lateness, as in analyze/sql/report/lateness.sql:
 *
 *   due ──session, connect──► ──order──► free ──feeder──► queued ──tool──► sent */
static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t qt_counting_sessions(struct qt_engine *e)
{
    /* After a stop the supervisor also refuses events of sessions that never got a thread. These sessions come after
     * `spawned`. */
    if (atomic_load(&e->state) == QT_ENGINE_DONE || qt_stopping(e))
        return e->table.n_sessions;
    return atomic_load(&e->threads.spawned);
}

static void note_delay(struct qt_session *s, enum qt_lateness cause, int64_t ns)
{
    if (ns <= 0)
        return;
    qt_histogram_note(&s->engine->measured.delay[cause], ns);
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
    qt_histogram_note(&s->engine->measured.late, sent - due);
}

void qt_meter_event(struct qt_session *s, const struct qt_planned_event *ev, int64_t due, int64_t sent, int64_t done)
{
    int64_t able = later(ev->queued_ns, s->free_ns);
    enum qt_kind kind = ev->class == QT_CLASS_READ    ? QT_KIND_READ
                        : ev->class == QT_CLASS_WRITE ? QT_KIND_WRITE
                                                      : QT_KIND_OTHER;

    if (done != 0) {
        qt_histogram_note(&s->engine->measured.service[kind], done - sent);
        qt_raise(&s->service_ns[kind], (uint64_t)later(done - sent, 0));
    }
    if (due != QT_NONE)
        meter_lateness(s, ev, due, sent);
    qt_histogram_note(&s->engine->measured.tool, sent - later(due, able));
}

void qt_meter_error(struct qt_engine *e, int32_t number)
{
    struct qt_error_counts *c = &e->measured.error_counts;

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
        read_histogram(&e->measured.service[k], &out->service[k]);
    if (!qt_unpaced(e)) { /* at max pace nothing is due */
        read_histogram(&e->measured.late, &out->late);
        for (int c = 0; c < QT_LATE_TOOL; c++)
            read_histogram(&e->measured.delay[c], &out->delay[c]);
        read_histogram(&e->measured.tool, &out->delay[QT_LATE_TOOL]);
    }
    out->last_due_ns = atomic_load(&e->schedule.last_due_ns);
    read_errors(&e->measured.error_counts, out);
    add_sums(e, out);
}

/* Counts events by due time, in buckets of equal width. A time after the last bucket doubles the width of all buckets:
 *
 *     |5|3|0|7|  ──►  | 8 | 7 |   |   | */
enum { BUCKETS = 4096, FIRST_SHIFT = 20 }; /* a bucket is about 1 ms wide at first */

struct qt_due_counts {
    pthread_mutex_t lock;
    int32_t shift;
    int64_t last_ns, all;
    int64_t count[BUCKETS];
};

struct qt_due_counts *qt_due_counts_new(void)
{
    struct qt_due_counts *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    pthread_mutex_init(&d->lock, NULL);
    d->shift = FIRST_SHIFT;
    return d;
}

void qt_due_counts_free(struct qt_due_counts *d)
{
    if (d == NULL)
        return;
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void widen(struct qt_due_counts *d)
{
    for (int i = 0; i < BUCKETS / 2; i++)
        d->count[i] = d->count[2 * i] + d->count[2 * i + 1];
    memset(d->count + BUCKETS / 2, 0, sizeof d->count / 2);
    d->shift++;
}

void qt_due_note(struct qt_due_counts *d, int64_t due_ns)
{
    int64_t ns = due_ns > 0 ? due_ns : 0;

    pthread_mutex_lock(&d->lock);
    while (ns >> d->shift >= BUCKETS)
        widen(d);
    d->count[ns >> d->shift]++;
    d->last_ns = ns > d->last_ns ? ns : d->last_ns;
    d->all++;
    pthread_mutex_unlock(&d->lock);
}

int64_t qt_due_by(struct qt_due_counts *d, int64_t plan_ns)
{
    int64_t due = 0, ns = plan_ns + 1, whole, begin, end; /* includes events that are due exactly at plan_ns */

    if (plan_ns < 0)
        return 0;
    pthread_mutex_lock(&d->lock);
    if (ns > d->last_ns) {
        due = d->all;
    } else {
        whole = ns >> d->shift;
        for (int64_t i = 0; i < whole; i++)
            due += d->count[i];
        begin = whole << d->shift;
        end = begin + (INT64_C(1) << d->shift);
        end = end < d->last_ns + 1 ? end : d->last_ns + 1;
        due += (int64_t)((double)d->count[whole] * (double)(ns - begin) / (double)(end - begin));
    }
    pthread_mutex_unlock(&d->lock);
    return due;
}

int64_t qt_engine_due(struct qt_engine *e)
{
    if (e->options.pace != QT_PACE_SCHEDULE)
        return -1;
    if (atomic_load(&e->schedule.zero_ns) == 0)
        return 0;
    return qt_due_by(e->schedule.due_counts, qt_clock_to_plan(e, qt_now()));
}

/* Timer probes only sleep to absolute times and record how late they wake, like cyclictest. The machine alone causes
 * this lateness. It is compared with the lateness of the sessions.
 *
 *   probe 0  │───────64 ms───────│───────────────────│
 *   probe 1       │───────────────────│───────────────────│      staggered */
#define STEP_NS (64 * 1000000LL)

static void *run_probe(void *arg)
{
    struct qt_timer_probe *p = arg;
    struct qt_engine *e = p->engine;
    int64_t due = p->first_ns;
    struct timespec cpu;

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-timer-probe", 0, 0, 0);
    while (atomic_load(&e->probes.end) == 0) {
        int64_t now = qt_now();
        if (now < due) {
            qt_futex_wait(&e->probes.end, 0, due);
            continue;
        }
        qt_histogram_note(&e->measured.probe_late, now - due);
        due += STEP_NS * ((now - due) / STEP_NS + 1);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_fetch_add(&e->threads.ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    return NULL;
}

void qt_timer_probes_start(struct qt_engine *e, int64_t zero_ns)
{
    int32_t n = e->options.timer_probes;

    if (n <= 0 || (e->probes.probe = calloc((size_t)n, sizeof *e->probes.probe)) == NULL)
        return;
    while (e->probes.n < n) {
        struct qt_timer_probe *p = &e->probes.probe[e->probes.n];
        p->engine = e;
        p->first_ns = zero_ns + STEP_NS * e->probes.n / n;
        if (qt_thread_start(&p->thread, e->options.stack_bytes, run_probe, p) != 0)
            break;
        e->probes.n++;
    }
}

void qt_timer_probes_end(struct qt_engine *e)
{
    atomic_store(&e->probes.end, 1);
    qt_futex_wake(&e->probes.end, INT32_MAX);
    for (int32_t i = 0; i < e->probes.n; i++)
        pthread_join(e->probes.probe[i].thread, NULL);
    free(e->probes.probe);
    e->probes.probe = NULL;
    e->probes.n = 0;
}

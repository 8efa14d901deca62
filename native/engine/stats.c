/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a run, read while it runs:
 *
 *   engine    one array, by enum qt_counter: what is counted seldom
 *   sessions  what is counted with each event: one set each, written by one thread alone, added up here
 *   threads   CPU time of those that run, from their clocks; that of the ended ones was added up when they ended
 *   quantiles from the histograms: of the whole run, or of what came since the previous call
 */
#include <string.h>

#include "engine/meters.h"

/* CPU time of one running thread; 0 where it has just ended. */
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
    /* Made of its classes: read one after the other while sessions count, a difference could fall below 0. */
    c->executed = c->reads + c->writes + c->others;
}

static void add_quantiles(struct qt_engine *e, struct qt_engine_stats *out)
{
    out->tool_p50_ns = qt_histogram_quantile(&e->tool, 1, NULL, 0.5);
    out->tool_p99_ns = qt_histogram_quantile(&e->tool, 1, NULL, 0.99);
    out->tool_p999_ns = qt_histogram_quantile(&e->tool, 1, NULL, 0.999);
    out->probe_p50_ns = qt_histogram_quantile(&e->probe_late, 1, NULL, 0.5);
    out->probe_p99_ns = qt_histogram_quantile(&e->probe_late, 1, NULL, 0.99);
    out->probe_p999_ns = qt_histogram_quantile(&e->probe_late, 1, NULL, 0.999);
}

void qt_engine_stats(struct qt_engine *e, struct qt_engine_stats *out)
{
    qt_engine_peek(e, out);
    pthread_mutex_lock(&e->stats_lock);
    out->p95_ns = qt_histogram_quantile(e->service, QT_KINDS, e->service_before, 0.95);
    out->late_p99_ns = qt_histogram_quantile(&e->late, 1, e->late_before, 0.99);
    pthread_mutex_unlock(&e->stats_lock);
}

void qt_engine_peek(struct qt_engine *e, struct qt_engine_stats *out)
{
    int64_t zero = atomic_load(&e->zero_ns);
    uint64_t counts[QT_COUNTERS];
    _Static_assert(sizeof counts == sizeof out->counts, "a counter is a number of the struct");

    memset(out, 0, sizeof *out);
    out->p95_ns = out->late_p99_ns = -1;
    for (int which = 0; which < QT_COUNTERS; which++)
        counts[which] = (uint64_t)qt_counted(e, which);
    memcpy(&out->counts, counts, sizeof counts);
    out->sessions_open = (uint64_t)atomic_load(&e->open);
    out->ended_by = atomic_load(&e->ended_by);
    out->queued_bytes = (uint64_t)atomic_load(&e->queued);
    out->now_ns = zero == 0 ? -1 : qt_now() - zero;
    out->zero_real_ns = atomic_load(&e->zero_real_ns);
    out->state = atomic_load(&e->state);
    out->engine_cpu_ns = atomic_load(&e->ended_cpu_ns);
    if (atomic_load(&e->has_cpu_clock))
        out->engine_cpu_ns += read_cpu_clock(e->supervisor_cpu);
    add_sessions(e, out);
    add_quantiles(e, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_private.h"

#include <string.h>

/* CPU time of one running thread; 0 where it has just ended. */
static int64_t clock_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? t.tv_sec * QT_SECOND + t.tv_nsec : 0;
}

static void add_sessions(struct qt_engine *e, struct qt_engine_stats *out)
{
    int64_t n = atomic_load(&e->state) == QT_ENGINE_DONE ? e->n_sessions : atomic_load(&e->spawned);

    /* After a stop the conductor refuses for sessions that never got a thread: those lie past `spawned`. */
    if (qt_stopping(e))
        n = e->n_sessions;
    for (int64_t i = 0; i < n; i++) {
        struct qt_session *s = &e->session[i];
        out->executed += atomic_load_explicit(&s->executed, memory_order_relaxed);
        out->not_sent += atomic_load_explicit(&s->not_sent, memory_order_relaxed);
        out->reads += atomic_load_explicit(&s->reads, memory_order_relaxed);
        out->writes += atomic_load_explicit(&s->writes, memory_order_relaxed);
        out->errors += atomic_load_explicit(&s->errors, memory_order_relaxed);
        out->injected += atomic_load_explicit(&s->injected, memory_order_relaxed);
        int32_t life = atomic_load(&s->life);
        if (life == QT_ENDED) { /* nobody writes its link any more */
            out->attributes_dropped += s->sides[0].link.attributes_dropped + s->sides[1].link.attributes_dropped;
            out->bulk_expanded += s->sides[0].link.expanded + s->sides[1].link.expanded;
        }
        if (life == QT_LIVE)
            out->engine_cpu_ns += clock_of(s->cpu_clock);
    }
    out->others = out->executed - out->reads - out->writes;
}

static void add_quantiles(struct qt_engine *e, struct qt_engine_stats *out)
{
    pthread_mutex_lock(&e->stats_lock);
    out->p95_ns = qt_histogram_quantile(&e->service, e->service_before, 0.95);
    out->late_p99_ns = qt_histogram_quantile(&e->late, e->late_before, 0.99);
    pthread_mutex_unlock(&e->stats_lock);
    out->tool_p50_ns = qt_histogram_quantile(&e->tool, NULL, 0.5);
    out->tool_p99_ns = qt_histogram_quantile(&e->tool, NULL, 0.99);
    out->canary_p50_ns = qt_histogram_quantile(&e->canary_late, NULL, 0.5);
    out->canary_p99_ns = qt_histogram_quantile(&e->canary_late, NULL, 0.99);
}

void qt_engine_stats(struct qt_engine *e, struct qt_engine_stats *out)
{
    int64_t zero = atomic_load(&e->zero_ns);

    memset(out, 0, sizeof *out);
    out->fed = atomic_load(&e->fed);
    out->sessions_open = (uint64_t)atomic_load(&e->open);
    out->sessions_opened = (uint64_t)atomic_load(&e->opened);
    out->sessions_failed = (uint64_t)atomic_load(&e->failed);
    out->sessions_lost = (uint64_t)atomic_load(&e->lost);
    out->sessions_reopened = (uint64_t)atomic_load(&e->reopened);
    out->timeouts = (uint64_t)atomic_load(&e->timeouts);
    out->overload_waits = (uint64_t)atomic_load(&e->overload_waits);
    out->overload_drops = (uint64_t)atomic_load(&e->overload_drops);
    out->order_waits = (uint64_t)atomic_load(&e->order_waits);
    out->order_broken = (uint64_t)atomic_load(&e->order_broken);
    out->order_wait_ns = atomic_load(&e->order_wait_ns);
    out->mirror_failed = (uint64_t)atomic_load(&e->mirror_failed);
    out->unforced = (uint64_t)atomic_load(&e->unforced);
    out->ended_by = atomic_load(&e->ended_by);
    out->queued_bytes = (uint64_t)atomic_load(&e->queued);
    out->drain_cut = (uint64_t)atomic_load(&e->drain_cut);
    out->now_ns = zero == 0 ? -1 : qt_now() - zero;
    out->zero_real_ns = atomic_load(&e->zero_real_ns);
    out->state = atomic_load(&e->state);
    out->engine_cpu_ns = atomic_load(&e->ended_cpu_ns);
    if (atomic_load(&e->has_cpu_clock))
        out->engine_cpu_ns += clock_of(e->conductor_cpu);
    add_sessions(e, out);
    add_quantiles(e, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Timer probes do nothing but sleep to absolute times and note how late they wake, as cyclictest does: so late the
 * machine alone makes a thread, and the sessions' lateness is compared with it.
 *
 *   probe 0  │───────64 ms───────│───────────────────│
 *   probe 1       │───────────────────│───────────────────│      staggered
 */
#include "engine/timer_probe.h"

#include <stdlib.h>
#include <sys/prctl.h>

#include "base/thread.h"

#define STEP_NS (64 * 1000000LL)

static void *run_probe(void *arg)
{
    struct qt_timer_probe *p = arg;
    struct qt_engine *e = p->engine;
    int64_t due = p->first_ns;
    struct timespec cpu;

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-timer-probe", 0, 0, 0);
    while (atomic_load(&e->probes_end) == 0) {
        int64_t now = qt_now();
        if (now < due) {
            qt_futex_wait(&e->probes_end, 0, due);
            continue;
        }
        qt_histogram_note(&e->probe_late, now - due);
        due += STEP_NS * ((now - due) / STEP_NS + 1);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_fetch_add(&e->ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    return NULL;
}

void qt_timer_probes_start(struct qt_engine *e, int64_t zero_ns)
{
    int32_t n = e->options.timer_probes;

    if (n <= 0 || (e->timer_probe = calloc((size_t)n, sizeof *e->timer_probe)) == NULL)
        return;
    while (e->n_timer_probes < n) {
        struct qt_timer_probe *p = &e->timer_probe[e->n_timer_probes];
        p->engine = e;
        p->first_ns = zero_ns + STEP_NS * e->n_timer_probes / n;
        if (qt_thread_start(&p->thread, e->options.stack_bytes, run_probe, p) != 0)
            break;
        e->n_timer_probes++;
    }
}

void qt_timer_probes_end(struct qt_engine *e)
{
    atomic_store(&e->probes_end, 1);
    qt_futex_wake(&e->probes_end, INT32_MAX);
    for (int32_t i = 0; i < e->n_timer_probes; i++)
        pthread_join(e->timer_probe[i].thread, NULL);
    free(e->timer_probe);
    e->timer_probe = NULL;
    e->n_timer_probes = 0;
}

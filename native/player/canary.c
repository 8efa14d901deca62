/* SPDX-License-Identifier: Apache-2.0 */
/* Canaries do nothing but sleep to absolute times, 16 ms apart and staggered, and note how late they wake: what the
 * machine alone makes late, beside which the sessions' lateness is to be read. */
#include "engine_private.h"

#include <stdlib.h>
#include <sys/prctl.h>

#define STEP_NS (16 * 1000000LL)

static void *run(void *arg)
{
    struct qt_canary *c = arg;
    struct qt_engine *e = c->engine;
    int64_t due = c->first_ns;
    struct timespec cpu;

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-canary", 0, 0, 0);
    while (atomic_load(&e->canary_end) == 0) {
        int64_t now = qt_now();
        if (now < due) {
            qt_futex_wait(&e->canary_end, 0, due);
            continue;
        }
        qt_histogram_note(&e->canary_late, now - due);
        due += STEP_NS * ((now - due) / STEP_NS + 1);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_fetch_add(&e->ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    return NULL;
}

void qt_canaries_start(struct qt_engine *e, int64_t zero_ns)
{
    int32_t n = e->options.canaries;

    if (n <= 0 || (e->canary = calloc((size_t)n, sizeof *e->canary)) == NULL)
        return;
    while (e->n_canaries < n) {
        struct qt_canary *c = &e->canary[e->n_canaries];
        c->engine = e;
        c->first_ns = zero_ns + STEP_NS * e->n_canaries / n;
        if (qt_thread_start(&c->thread, e->options.stack_bytes, run, c) != 0)
            break;
        e->n_canaries++;
    }
}

void qt_canaries_end(struct qt_engine *e)
{
    atomic_store(&e->canary_end, 1);
    qt_futex_wake(&e->canary_end, INT32_MAX);
    for (int32_t i = 0; i < e->n_canaries; i++)
        pthread_join(e->canary[i].thread, NULL);
    free(e->canary);
    e->canary = NULL;
    e->n_canaries = 0;
}

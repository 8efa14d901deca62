/* SPDX-License-Identifier: Apache-2.0 */
/* Time and waiting: CLOCK_MONOTONIC throughout, absolute deadlines (futex(2), FUTEX_WAIT_BITSET). */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine_private.h"

int64_t qt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t qt_thread_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void qt_precise_sleep(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

int qt_wait(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns)
{
    struct timespec until = {0, 0};
    if (deadline_ns != QT_NONE) {
        if (deadline_ns < 0)
            deadline_ns = 0;
        until.tv_sec = deadline_ns / 1000000000;
        until.tv_nsec = deadline_ns % 1000000000;
    }
    for (;;) {
        if (atomic_load_explicit(word, memory_order_acquire) != seen)
            return 0;
        long r = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline_ns == QT_NONE ? NULL : &until, NULL,
                         FUTEX_BITSET_MATCH_ANY);
        if (r == -1 && errno == ETIMEDOUT)
            return 1;
    }
}

void qt_wake(_Atomic uint32_t *word)
{
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

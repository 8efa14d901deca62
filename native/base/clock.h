/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's only clock, and a sleep that another thread can end. A futex with an absolute time wakes as precisely as
 * clock_nanosleep. */
#ifndef QT_CLOCK_H
#define QT_CLOCK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define QT_SECOND INT64_C(1000000000)
#define QT_FOREVER INT64_MAX

static inline int64_t qt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * QT_SECOND + t.tv_nsec;
}

/* Sleeps while *word == expected, until `until_ns` on CLOCK_MONOTONIC. May wake early, so callers must check again. */
static inline void qt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until_ns)
{
    struct timespec t = {.tv_sec = until_ns / QT_SECOND, .tv_nsec = until_ns % QT_SECOND};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, until_ns == QT_FOREVER ? NULL : &t, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

/* Wakes up to `n` threads that sleep on `word`. Safe in a signal handler. */
static inline void qt_futex_wake(_Atomic uint32_t *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#endif

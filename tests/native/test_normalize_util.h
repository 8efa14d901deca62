/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that count failures and continue. */
#ifndef QT_TEST_NORMALIZE_UTIL_H
#define QT_TEST_NORMALIZE_UTIL_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct checks {
    int done, failed;
};

__attribute__((format(printf, 3, 4))) static inline int check(struct checks *c, int holds, const char *format, ...)
{
    c->done++;
    if (holds)
        return 1;
    va_list arguments;
    va_start(arguments, format);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    c->failed++;
    return 0;
}

/* xorshift64*: gives the same numbers on every machine. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline size_t random_below(uint64_t *state, size_t n)
{
    return n == 0 ? 0 : (size_t)((random_next(state) >> 11) % n);
}

#endif

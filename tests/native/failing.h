/* SPDX-License-Identifier: Apache-2.0 */
/* Makes calls of the tested code fail on request. The linker replaces malloc, calloc, realloc, strdup, free, read,
 * pread and pcap_compile with these functions (FAILING in the Makefile). Other libraries call the real functions. */
#ifndef QT_TEST_FAILING_H
#define QT_TEST_FAILING_H

#include <stddef.h>

enum failing_kind {
    FAILING_NONE,
    FAILING_MEMORY,      /* one allocation fails */
    FAILING_ALL_MEMORY,  /* one allocation and all later allocations fail */
    FAILING_INTERRUPTED, /* one read fails with EINTR */
    FAILING_READ,        /* one read fails with EIO */
    FAILING_SHORT,       /* every read returns one byte */
    FAILING_GUARD,       /* no failure; memory is pre-filled, and access beyond an allocation crashes */
};

/* Makes one call of a kind fail. `number` counts from 1, starting with the next call. 0 = only count the calls. */
void failing_set(enum failing_kind, long number);
/* Stops all failures. Returns the number of calls of that kind since failing_set. */
long failing_stop(void);
/* Makes libpcap refuse filters longer than `longest` bytes. 0 = no limit. */
void failing_filters(size_t longest);

#endif

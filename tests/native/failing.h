/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the code under test that fail when a test says so: the linker puts these in the place of malloc, calloc,
 * realloc, strdup, free, read, pread and pcap_compile (FAILING in the Makefile). Other libraries call the real ones. */
#ifndef QT_TEST_FAILING_H
#define QT_TEST_FAILING_H

#include <stddef.h>

enum failing_kind {
    FAILING_NONE,
    FAILING_MEMORY,      /* one allocation */
    FAILING_ALL_MEMORY,  /* one allocation and all behind it */
    FAILING_INTERRUPTED, /* one read, with EINTR */
    FAILING_READ,        /* one read, with EIO */
    FAILING_SHORT,       /* every read gives one byte */
    FAILING_GUARD,       /* nothing; allocations are filled, and whoever touches what is behind one dies */
};

/* From now on call `number` of its kind fails, counted from 1; 0 = none, they are only counted. */
void failing_set(enum failing_kind, long number);
/* How many calls of that kind there were since; from then on none fails. */
long failing_stop(void);
/* From now on libpcap refuses filters of more than so many bytes; 0 = it does not. */
void failing_filters(size_t longest);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of durations in log-linear buckets. Each power of two has 64 buckets, so a bucket's width is at most 1/64 of
 * its value.
 *
 *     0 1 2 ... 127 | 128 130 ... 254 | 256 260 ... 508 | 512 ...
 *
 * Any thread may add a duration at any time. A reader uses a copy of the counts. */
#ifndef QT_HISTOGRAM_H
#define QT_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { QT_BUCKETS = 58 * 64 };

struct qt_histogram {
    _Atomic uint64_t count[QT_BUCKETS];
};

static inline int qt_bucket(int64_t ns)
{
    uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
    int shift = v < 128 ? 0 : 57 - __builtin_clzll(v);
    return shift * 64 + (int)(v >> shift);
}

static inline void qt_histogram_note(struct qt_histogram *h, int64_t ns)
{
    atomic_fetch_add_explicit(&h->count[qt_bucket(ns)], 1, memory_order_relaxed);
}

/* Returns the middle of a bucket, in nanoseconds. */
int64_t qt_bucket_value(int bucket);
/* Returns the q-quantile of all values in `n` histograms. If `before` is given, only values that are not yet counted in
 * `before` are used. `before` is then updated. Returns -1 if there are no values. */
int64_t qt_histogram_quantile(const struct qt_histogram *, int n, uint64_t before[QT_BUCKETS], double q);
/* Sets below[i] to the number of values below 2^(first + i), for i from 0 to n - 1. `first` must be at least 7. Returns
 * the total number of values. */
uint64_t qt_histogram_below(const struct qt_histogram *, int first, int n, uint64_t *below);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of durations in log-linear buckets: 64 to each power of two, so a bucket is at most 1/64 of its value wide.
 *
 *     0 1 2 ... 127 | 128 130 ... 254 | 256 260 ... 508 | 512 ...
 *
 * Any thread may note; a reader sees some moment's counts. */
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

/* The middle of a bucket. */
int64_t qt_bucket_value(int bucket);
/* The q-quantile of what was noted in `n` histograms since `before` was taken (or ever, where it is NULL); -1 where
 * nothing was. Where `before` is given it is brought up to date. */
int64_t qt_histogram_quantile(const struct qt_histogram *, int n, uint64_t before[QT_BUCKETS], double q);
/* How many are below each of `n` powers of two from 2^first (at least 2^7) on; returns how many there are in all. */
uint64_t qt_histogram_below(const struct qt_histogram *, int first, int n, uint64_t *below);

#endif

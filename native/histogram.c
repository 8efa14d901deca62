/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket of a value is its highest seven bits (as in HdrHistogram with two significant digits). */
#include "histogram.h"

#include <stddef.h>

static unsigned bucket_of(uint64_t value)
{
    if (value < 64)
        return (unsigned)value;
    unsigned shift = 57u - (unsigned)__builtin_clzll(value); /* leaves 64..127 */
    return (shift + 1) * 64 + (unsigned)(value >> shift) - 64;
}

static int64_t upper_end(unsigned bucket)
{
    if (bucket < 64)
        return bucket;
    unsigned shift = bucket / 64 - 1;
    return (int64_t)((((uint64_t)(bucket % 64) + 65) << shift) - 1);
}

void qt_histogram_add(struct qt_histogram *h, int64_t ns)
{
    atomic_fetch_add_explicit(&h->counts[bucket_of(ns > 0 ? (uint64_t)ns : 0)], 1, memory_order_relaxed);
}

void qt_histogram_copy(const struct qt_histogram *h, uint64_t *out)
{
    for (unsigned i = 0; i < QT_HISTOGRAM_BUCKETS; i++)
        out[i] = atomic_load_explicit(&((struct qt_histogram *)h)->counts[i], memory_order_relaxed);
}

int64_t qt_histogram_quantile(const struct qt_histogram *h, const uint64_t *before, double q)
{
    uint64_t now[QT_HISTOGRAM_BUCKETS], total = 0, below = 0;
    qt_histogram_copy(h, now);
    for (unsigned i = 0; i < QT_HISTOGRAM_BUCKETS; i++)
        total += now[i] -= before != NULL ? before[i] : 0;
    if (total == 0)
        return -1;
    for (unsigned i = 0; i < QT_HISTOGRAM_BUCKETS; i++)
        if ((double)(below += now[i]) >= q * (double)total)
            return upper_end(i);
    return upper_end(QT_HISTOGRAM_BUCKETS - 1);
}

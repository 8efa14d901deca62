/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles are computed from a copy of the counts, because other threads keep counting meanwhile. */
#include "base/histogram.h"

#include <stddef.h>

int64_t qt_bucket_value(int bucket)
{
    int shift = bucket < 128 ? 0 : bucket / 64 - 1;
    uint64_t low = (uint64_t)(bucket - shift * 64) << shift;
    return (int64_t)(low + ((1ULL << shift) >> 1));
}

int64_t qt_histogram_quantile(const struct qt_histogram *h, int n, uint64_t before[QT_BUCKETS], double q)
{
    uint64_t counts[QT_BUCKETS], total = 0, seen = 0, wanted;

    for (int i = 0; i < QT_BUCKETS; i++) {
        uint64_t now = 0;
        for (int k = 0; k < n; k++)
            now += atomic_load_explicit(&h[k].count[i], memory_order_relaxed);
        counts[i] = before == NULL ? now : now - before[i];
        if (before != NULL)
            before[i] = now;
        total += counts[i];
    }
    if (total == 0)
        return -1;
    wanted = (uint64_t)(q * (double)total);
    if (wanted < 1)
        wanted = 1;
    for (int i = 0; i < QT_BUCKETS; i++) {
        seen += counts[i];
        if (seen >= wanted)
            return qt_bucket_value(i);
    }
    return qt_bucket_value(QT_BUCKETS - 1);
}

uint64_t qt_histogram_below(const struct qt_histogram *h, int first, int n, uint64_t *below)
{
    uint64_t seen = 0;
    int bucket = 0;

    for (int i = 0; i < n; i++) {
        for (int end = qt_bucket(INT64_C(1) << (first + i)); bucket < end; bucket++)
            seen += atomic_load_explicit(&h->count[bucket], memory_order_relaxed);
        below[i] = seen;
    }
    for (; bucket < QT_BUCKETS; bucket++)
        seen += atomic_load_explicit(&h->count[bucket], memory_order_relaxed);
    return seen;
}

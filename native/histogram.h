/* SPDX-License-Identifier: Apache-2.0 */
/* Durations counted in log-linear buckets at most 1.6 % wide, from many threads at once. */
#ifndef QT_HISTOGRAM_H
#define QT_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define QT_HISTOGRAM_BUCKETS 3776 /* 64 exact ones, then 64 for each power of two up to 2^63 */

struct qt_histogram {
    _Atomic uint64_t counts[QT_HISTOGRAM_BUCKETS];
};

/* Negative durations count as 0. Any thread. */
void qt_histogram_add(struct qt_histogram *, int64_t ns);
/* Upper end of the bucket that holds quantile q of what was added since `before` was copied (NULL = ever); -1 = nothing. */
int64_t qt_histogram_quantile(const struct qt_histogram *, const uint64_t *before, double q);
void qt_histogram_copy(const struct qt_histogram *, uint64_t *out);

#endif

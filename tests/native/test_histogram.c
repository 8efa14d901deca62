/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"
#include "check.h"

/* Every value falls into a bucket whose middle is at most 1 % away, and buckets go up with values. */
static void buckets_are_narrow(void)
{
    int last = 0;
    for (double x = 0; x < 9e18; x = x * 1.01 + 1) {
        int64_t v = (int64_t)x, middle = qt_bucket_value(qt_bucket(v));
        CHECK(qt_bucket(v) >= last && qt_bucket(v) < QT_BUCKETS);
        CHECK((double)(middle > v ? middle - v : v - middle) <= (double)v * 0.01 + 0.5);
        last = qt_bucket(v);
    }
    CHECK(qt_bucket(INT64_MAX) < QT_BUCKETS);
    CHECK_INT(qt_bucket(-5), 0);
}

/* Quantiles of everything, and of what came since the last look. */
static void quantiles_of_intervals(void)
{
    static struct qt_histogram h;
    static uint64_t before[QT_BUCKETS];
    int64_t found;

    CHECK_INT(qt_histogram_quantile(&h, NULL, 0.5), -1);
    for (int i = 1; i <= 1000; i++)
        qt_histogram_note(&h, i * 1000);
    found = qt_histogram_quantile(&h, before, 0.95);
    CHECK(found > 940000 && found < 960000);
    CHECK_INT(qt_histogram_quantile(&h, before, 0.95), -1);
    qt_histogram_note(&h, 7);
    CHECK_INT(qt_histogram_quantile(&h, before, 0.95), 7);
    found = qt_histogram_quantile(&h, NULL, 0.5);
    CHECK(found > 490000 && found < 510000);
}

int main(void)
{
    RUN(buckets_are_narrow);
    RUN(quantiles_of_intervals);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"
#include "check.h"

/* Every value falls into a bucket whose middle is at most 1 % away. Larger values fall into later buckets. */
static void bucket_middle_is_within_one_percent(void)
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

/* Quantiles of all values, and of the values since the last call. */
static void quantiles_cover_only_values_since_the_last_call(void)
{
    static struct qt_histogram h;
    static uint64_t before[QT_BUCKETS];
    int64_t found;

    CHECK_INT(qt_histogram_quantile(&h, 1, NULL, 0.5), -1);
    for (int i = 1; i <= 1000; i++)
        qt_histogram_note(&h, i * 1000);
    found = qt_histogram_quantile(&h, 1, before, 0.95);
    CHECK(found > 940000 && found < 960000);
    CHECK_INT(qt_histogram_quantile(&h, 1, before, 0.95), -1);
    qt_histogram_note(&h, 7);
    CHECK_INT(qt_histogram_quantile(&h, 1, before, 0.95), 7);
    found = qt_histogram_quantile(&h, 1, NULL, 0.5);
    CHECK(found > 490000 && found < 510000);
}

/* Counts below a power of two are exact, because each power is a bucket limit. */
static void counts_below_powers_of_two_are_exact(void)
{
    static struct qt_histogram h;
    uint64_t below[4];

    for (int64_t v = 0; v < 2000; v++)
        qt_histogram_note(&h, v);
    qt_histogram_note(&h, INT64_MAX);
    CHECK_INT(qt_histogram_below(&h, 7, 4, below), 2001);
    CHECK_INT(below[0], 128);
    CHECK_INT(below[1], 256);
    CHECK_INT(below[2], 512);
    CHECK_INT(below[3], 1024);
    for (int k = 7; k < 62; k++) { /* one below a power, and the power itself */
        int64_t bound = INT64_C(1) << k;
        CHECK(qt_bucket(bound - 1) < qt_bucket(bound));
    }
}

/* Several histograms can be evaluated as one. */
static void quantiles_combine_several_histograms(void)
{
    static struct qt_histogram h[3];
    static uint64_t before[QT_BUCKETS];

    for (int i = 0; i < 100; i++)
        qt_histogram_note(&h[i < 98 ? 0 : 2], i < 98 ? 10 : 100);
    CHECK_INT(qt_histogram_quantile(h, 3, before, 0.98), 10);
    CHECK_INT(qt_histogram_quantile(h, 3, NULL, 0.99), 100);
    CHECK_INT(qt_histogram_quantile(h, 3, before, 0.5), -1);
    qt_histogram_note(&h[1], 50);
    CHECK_INT(qt_histogram_quantile(h, 3, before, 0.5), 50);
}

int main(void)
{
    RUN(bucket_middle_is_within_one_percent);
    RUN(quantiles_cover_only_values_since_the_last_call);
    RUN(counts_below_powers_of_two_are_exact);
    RUN(quantiles_combine_several_histograms);
    return 0;
}

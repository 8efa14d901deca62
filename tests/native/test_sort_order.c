/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of rows that are nearly sorted, unsorted, or already sorted. */
#include "base/sort_order.h"
#include "check.h"

enum { N = 5000 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Sorts keys with many duplicates, and a second key breaks ties. The result must be in order and contain each row
 * once. */
static void check_sort(int64_t displaced)
{
    static int64_t first[N], second[N];
    static uint32_t order[2 * N];
    static char seen[N];
    uint32_t state = 7;
    for (int i = 0; i < N; i++) {
        first[i] = displaced < 0 ? next_random(&state) % 100
                                 : i / 2 * 10 + (int64_t)(next_random(&state) % (displaced + 1));
        second[i] = i * 7919 % N;
        seen[i] = 0;
    }
    const int64_t *keys[] = {first, second};
    CHECK(qt_order_rows(keys, 2, N, order) == 1);
    for (int i = 0; i < N; i++) {
        CHECK(order[i] < N && !seen[order[i]]);
        seen[order[i]] = 1;
        uint32_t a = order[i > 0 ? i - 1 : 0], b = order[i];
        CHECK(first[a] < first[b] || (first[a] == first[b] && second[a] <= second[b]));
    }
}

static void rows_in_any_order_are_sorted(void)
{
    check_sort(50);
    check_sort(100000);
    check_sort(-1);
    int64_t rising[] = {1, 2, 2, 9};
    const int64_t *keys[] = {rising};
    uint32_t order[8];
    CHECK_INT(qt_order_rows(keys, 1, 4, order), 0);
}

int main(void)
{
    RUN(rows_in_any_order_are_sorted);
    return 0;
}

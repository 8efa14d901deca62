/* SPDX-License-Identifier: Apache-2.0 */
/* From rows in any order to sorted batches: order, buffers of the pool, events. */
#include <stdlib.h>

#include "buffer.h"
#include "check.h"
#include "event_batch.h"
#include "order.h"

enum { N = 5000 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Sorts keys of which many are equal; the second key decides. Neighbours must be in order, and each row be there once. */
static void sorts(int64_t displaced)
{
    static int64_t first[N], second[N];
    static uint32_t order[2 * N];
    static char seen[N];
    uint32_t state = 7;
    for (int i = 0; i < N; i++) {
        first[i] = displaced < 0 ? next_random(&state) % 100 : i / 2 * 10 + (int64_t)(next_random(&state) % (displaced + 1));
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

static void rows_are_sorted_however_they_come(void)
{
    sorts(50);
    sorts(100000);
    sorts(-1);
    int64_t rising[] = {1, 2, 2, 9};
    const int64_t *keys[] = {rising};
    uint32_t order[8];
    CHECK_INT(qt_order_rows(keys, 1, 4, order), 0);
}

/* What was freed is given out again; zeros stay zeros while others have them; a buffer outlives the pool's owner. */
static void buffers_come_back(void)
{
    struct qt_pool *pool = qt_pool_new();
    char *a = qt_buffer_new(pool, 100000), *zeros = qt_buffer_zeros(pool, 50000), *more = qt_buffer_zeros(pool, 90000);
    CHECK((uintptr_t)a % 64 == 0 && qt_buffer_size(a) >= 100000);
    memset(a, 1, 100000);
    qt_buffer_free(a);
    char *b = qt_buffer_new(pool, 99000);
    CHECK(a == b);
    CHECK(zeros[49999] == 0 && more[89999] == 0);
    qt_buffer_free(zeros);
    CHECK(qt_buffer_new(pool, SIZE_MAX - 10) == NULL);
    qt_pool_free(pool);
    CHECK(more[0] == 0);
    qt_buffer_free(more);
    qt_buffer_free(b);
}

static void add(struct qt_event_batch *b, int64_t start, const char *statement, int64_t rows)
{
    struct qt_event e = qt_event_unknown;
    e.session = 1;
    e.seq = start;
    e.command = "query";
    e.start_ns = start;
    e.precision_ns = 1000;
    e.statement = (struct qt_span){statement, strlen(statement)};
    e.rows_sent = rows;
    CHECK_INT(qt_event_batch_add(b, &e, NULL), 0);
}

static int column(const char *name)
{
    for (int i = 0; i < qt_event_n_columns; i++)
        if (strcmp(qt_event_columns[i].name, name) == 0)
            return i;
    return -1;
}

/* A late first value, columns that stay unknown, and the next batch after them. */
static void unknown_values_are_null_and_rows_sorted(void)
{
    struct qt_event_batch b;
    struct qt_error error = {0};
    struct ArrowArray out;
    CHECK_INT(qt_event_batch_init(&b), 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3000; i++)
            add(&b, i ^ 1, i % 2 ? "SELECT 'a text that is longer than sixteen bytes'" : "COMMIT", i == 2000 ? 42 : -1);
        CHECK_INT(qt_event_batch_finish(&b, &out, &error), QT_OK);
        const int64_t *start = out.children[column("start_ns")]->buffers[1];
        const struct ArrowArray *text = out.children[column("statement")], *sent = out.children[column("rows_sent")];
        const int32_t *offsets = text->buffers[1];
        for (int i = 0; i < 3000; i++) {
            CHECK_INT(start[i], i);
            CHECK_INT(offsets[i + 1] - offsets[i], i % 2 ? 6 : 49);
            CHECK(memcmp((const char *)text->buffers[2] + offsets[i], i % 2 ? "COMMIT" : "SELECT", 6) == 0);
        }
        CHECK_INT(sent->null_count, 2999);
        CHECK_INT(((const int64_t *)sent->buffers[1])[2001], 42);
        CHECK(((const uint8_t *)sent->buffers[0])[2001 / 8] == 1 << 2001 % 8);
        CHECK_INT(out.children[column("error")]->null_count, 3000);
        CHECK(((const uint8_t *)out.children[column("error")]->buffers[0])[100] == 0);
        out.release(&out);
    }
    qt_event_batch_free(&b);
}

int main(void)
{
    RUN(rows_are_sorted_however_they_come);
    RUN(buffers_come_back);
    RUN(unknown_values_are_null_and_rows_sorted);
    return 0;
}

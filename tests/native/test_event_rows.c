/* SPDX-License-Identifier: Apache-2.0 */
/* Events in any order become sorted batches. Unknown values are NULL. */
#include "check.h"
#include "reader/event_rows.h"

static void add(struct qt_event_batch *b, int64_t start, const char *statement, int64_t rows)
{
    struct qt_event_row e = qt_event_unknown;
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

/* Covers a column whose first value comes late, columns that stay unknown, and the following batch. */
static void unknown_values_are_null_and_rows_are_sorted(void)
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

/* Times are assigned when a batch is complete. The row counts are the batch capacity, one row more and one row less. */
static void times_are_assigned_when_a_batch_is_complete(void)
{
    static const int64_t ROWS[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 8192};
    struct qt_event_batch b;
    CHECK_INT(qt_event_batch_init(&b), 0);
    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        int64_t n = ROWS[k], first, last;
        struct ArrowArray out;
        for (int64_t i = 0; i < n; i++) {
            struct qt_event_row e = qt_event_unknown;
            struct qt_event_time t = {.start_ns = 1000 + 10 * (n - i), .duration_ns = i % 3 ? 7 : -1, .flags = i % 2};
            e.session = 1;
            e.seq = i;
            e.command = "query";
            e.precision_ns = 1000;
            e.duration_ns = i % 3 ? 1 : -1;
            CHECK_INT(qt_event_batch_add(&b, &e, &t), 0);
        }
        qt_event_batch_take_times(&b);
        qt_event_batch_find_range(&b, &first, &last);
        CHECK(first == (n > 0 ? 1010 : INT64_MAX));
        CHECK(last == (n > 0 ? 1000 + 10 * n : INT64_MIN)); /* the first row has no duration and begins last */
        CHECK_INT(qt_event_batch_finish(&b, &out, NULL), QT_OK);
        CHECK_INT(out.length, n);
        const int64_t *start = out.children[column("start_ns")]->buffers[1];
        const int64_t *duration = out.children[column("duration_ns")]->buffers[1];
        const int64_t *flags = out.children[column("flags")]->buffers[1];
        for (int64_t at = 0; at < n; at++) { /* sorted by time, so the last added row comes first */
            int64_t i = n - 1 - at;
            CHECK_INT(start[at], 1000 + 10 * (n - i));
            CHECK(i % 3 == 0 || duration[at] == 7);
            CHECK_INT(flags[at], i % 2);
        }
        CHECK_INT(out.children[column("duration_ns")]->null_count, (n + 2) / 3);
        out.release(&out);
    }
    qt_event_batch_free(&b);
}

int main(void)
{
    RUN(unknown_values_are_null_and_rows_are_sorted);
    RUN(times_are_assigned_when_a_batch_is_complete);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Events in any order become sorted batches, with NULL where nothing was known. */
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
    RUN(unknown_values_are_null_and_rows_sorted);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep over random events. The numbers of each place (table and kind) are consecutive. Memory is freed correctly,
 * and lack of memory is reported. tests/simulator and tests/replay/plan check the numbers themselves. */
#include "base/arrow_abi.h"
#include "base/arrow_stream.h"
#include "check.h"
#include "failing.h"

enum { EVENTS = 3000, BATCH = 100, SESSIONS = 12, DIGESTS = 8, TABLES = 6, KINDS = 3, PLACES = TABLES * KINDS };
enum { LONG = 1, LOCKS = 2, OWN = 4, READS = 8, STATEMENT = 16, EXCLUSIVE = 32 };

static const struct qt_column_spec SPECS[] = {
    {"session", 'l', 0}, {"seq", 'l', 0},    {"tape_ns", 'l', 0},  {"at_ns", 'l', 0},  {"lo_ns", 'l', 0},
    {"hi_ns", 'l', 0},   {"digest", 'l', 0}, {"tx_first", 'l', 0}, {"tx_end", 'l', 0}, {"facts", 'l', 0},
};
enum { N_COLUMNS = sizeof SPECS / sizeof *SPECS };

/* Digest 0 uses no table, digest 1 table 2, digest 2 tables 2 and 3. Digest 3 adds rows to table 4. Digest 4 is
 * unknown. Digest 5 reads table 5 and adds rows to it. Digest 6 uses tables 3 and 4, digest 7 uses table 3 later. */
static const struct qt_sweep_use USES[] = {{1, 2, QT_USE_ASKS},
                                           {2, 2, QT_USE_ASKS},
                                           {2, 3, QT_USE_ASKS},
                                           {3, 4, QT_USE_ADDS_ROWS},
                                           {4, 1, QT_USE_ASKS | QT_USE_ADDS_ROWS},
                                           {5, 5, QT_USE_ASKS | QT_USE_ADDS_ROWS},
                                           {6, 3, QT_USE_ASKS},
                                           {6, 4, QT_USE_ASKS},
                                           {7, 3, QT_USE_LATER},
                                           {7, 5, QT_USE_ASKS}};
static const uint8_t IS_LONG[TABLES] = {0, 0, 1, 0, 0, 0}, IS_EXCLUSIVE[TABLES] = {0, 0, 0, 1, 0, 0};

struct random_events {
    uint64_t state;
    struct qt_columns cols;
    int64_t now, left, hi[SESSIONS], seq[SESSIONS], first[SESSIONS], end[SESSIONS];
    int times;
};

static int64_t below(struct random_events *r, int64_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(r->state >> 33) % n;
}

static void add_event(struct random_events *r)
{
    int64_t s = below(r, SESSIONS), facts = 0, digest = below(r, DIGESTS + 1) - 1, seq, inside, lasts;
    while (r->hi[s] > r->now) {
        r->now++;
        s = below(r, SESSIONS);
    }
    seq = ++r->seq[s];
    if (r->end[s] < seq && below(r, 3) == 0) {
        r->first[s] = seq;
        r->end[s] = seq + below(r, 8);
    }
    inside = r->end[s] >= seq;
    lasts = below(r, 4) == 0 ? 0 : below(r, 60);
    if (below(r, 2))
        facts = LOCKS | STATEMENT | (below(r, 8) == 0 ? OWN : 0) | (below(r, 20) == 0 ? LONG : 0) |
                (below(r, 8) == 0 ? EXCLUSIVE : 0);
    else
        facts = READS | STATEMENT;
    int64_t row[N_COLUMNS] = {s + 1,
                              seq,
                              r->now,
                              r->now + (r->times == 2 ? below(r, lasts + 1) : 0),
                              r->now,
                              r->now + lasts,
                              digest,
                              inside ? r->first[s] : -1,
                              inside ? r->end[s] : -1,
                              facts};
    for (int i = 0; i < N_COLUMNS; i++)
        qt_col_i64(&r->cols.col[i], row[i]);
    r->hi[s] = r->now + lasts;
    r->now += below(r, 3);
}

static int next(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct random_events *r = self;
    if (r->left == 0)
        return QT_OK;
    for (int i = 0; i < BATCH; i++)
        add_event(r);
    r->left -= BATCH;
    return qt_columns_finish(&r->cols, out, err);
}

static void close_events(void *self) { qt_columns_free(&((struct random_events *)self)->cols); }

struct places {
    uint8_t seen[PLACES][4 * EVENTS];
    int64_t highest[PLACES], most_waited[PLACES], rows;
};

static void read_pairs(const char *p, const char *end, int marks, struct places *places)
{
    while (p < end) {
        char *after;
        long place = strtol(p, &after, 10), number = strtol(after + 1, &after, 10);
        CHECK(place >= 0 && place < PLACES && number > 0 && number < 4 * EVENTS);
        if (marks) {
            CHECK(!places->seen[place][number]);
            places->seen[place][number] = 1;
            places->highest[place] = number > places->highest[place] ? number : places->highest[place];
        } else if (number > places->most_waited[place]) {
            places->most_waited[place] = number;
        }
        p = after + (after < end && *after == ' ');
    }
}

static void read_batch(const struct ArrowArray *batch, struct places *places)
{
    const int32_t *offsets = batch->children[3]->buffers[1];
    const char *text = batch->children[3]->buffers[2];
    for (int64_t i = 0; i < batch->length; i++) {
        char row[4096];
        char *marks;
        int n = offsets[i + 1] - offsets[i];
        CHECK(n > 0 && n < (int)sizeof row);
        memcpy(row, text + offsets[i], (size_t)n);
        row[n] = '\0';
        marks = strchr(row, ';');
        read_pairs(row, marks == NULL ? row + n : marks, 0, places);
        if (marks != NULL)
            read_pairs(marks + 1, row + n, 1, places);
        places->rows++;
    }
}

/* Returns the code of the first failure. Reads at most `batches` batches. */
static int sweep(uint64_t seed, int times, int unknown, int64_t batches, struct places *places)
{
    struct random_events r = {.state = seed, .left = EVENTS, .now = 1000, .times = times};
    struct qt_stream_source source = {SPECS, N_COLUMNS, next, close_events, &r};
    struct ArrowArrayStream in = {0}, out = {0};
    struct qt_sweep_options options = {
        USES, sizeof USES / sizeof *USES, DIGESTS, TABLES, IS_LONG, IS_EXCLUSIVE, times, unknown, 20};
    int code = qt_columns_init(&r.cols, SPECS, N_COLUMNS);
    if (code != QT_OK)
        return code;
    code = qt_stream_make(&in, &source, NULL);
    if (code != QT_OK) {
        qt_columns_free(&r.cols);
        return code;
    }
    code = qt_sweep_stream(&in, &options, &out, NULL);
    while (code == QT_OK && batches-- > 0) {
        struct ArrowArray batch = {0};
        code = out.get_next(&out, &batch);
        if (code != 0 || batch.release == NULL)
            break;
        read_batch(&batch, places);
        batch.release(&batch);
    }
    if (out.release != NULL)
        out.release(&out);
    in.release(&in);
    return code;
}

static void numbers_of_a_place_are_consecutive(void)
{
    for (uint64_t seed = 1; seed <= 40 / case_step(); seed++) {
        static struct places p;
        p = (struct places){0};
        CHECK_INT(sweep(seed, (int)(seed % 3), seed % 2, INT64_MAX, &p), 0);
        CHECK(p.rows > EVENTS / 2);
        for (int place = 0; place < PLACES; place++) {
            for (int64_t n = 1; n <= p.highest[place]; n++)
                CHECK(p.seen[place][n]);
            CHECK(p.most_waited[place] <= p.highest[place]);
        }
    }
}

static void stream_may_be_closed_early(void)
{
    static struct places p;
    for (int64_t batches = 0; batches < 3; batches++) {
        p = (struct places){0};
        CHECK_INT(sweep(7, 0, 1, batches, &p), 0);
    }
}

static void failed_allocation_is_reported(void)
{
    static struct places p;
    long calls;
    for (int times = 0; times < 3; times++) {
        p = (struct places){0};
        failing_set(FAILING_ALL_MEMORY, 0);
        CHECK_INT(sweep(11, times, 1, INT64_MAX, &p), 0);
        calls = failing_stop();
        for (long call = 1; call <= calls; call += 1 + calls / 200) {
            p = (struct places){0};
            failing_set(FAILING_ALL_MEMORY, call);
            CHECK(sweep(11, times, 1, INT64_MAX, &p) != 0);
            failing_stop();
        }
    }
}

static void invalid_uses_are_refused(void)
{
    static const struct qt_sweep_use WRONG[][2] = {
        {{1, 2, 1}, {0, 2, 1}}, {{0, 9, 1}, {1, 2, 1}}, {{-1, 2, 1}, {1, 2, 1}}};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct ArrowArrayStream in = {0}, out = {0};
        struct qt_error err = {0};
        struct qt_sweep_options options = {WRONG[i], 2, 2, TABLES, IS_LONG, IS_EXCLUSIVE, 0, 0, 0};
        CHECK_INT(qt_sweep_stream(&in, &options, &out, &err), QT_EINVALID);
        CHECK(out.release == NULL && err.message[0] != '\0');
    }
}

int main(void)
{
    RUN(numbers_of_a_place_are_consecutive);
    RUN(stream_may_be_closed_early);
    RUN(failed_allocation_is_reported);
    RUN(invalid_uses_are_refused);
    return 0;
}

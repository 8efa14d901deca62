/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/stats.h"

#include "check.h"
#include "engine/pace.h"
#include "replay_run.h"

/* The counts are exact at whole milliseconds as long as all events fit into buckets of one millisecond. */
static void counts_of_one_millisecond_buckets_are_exact(void)
{
    struct qt_due_counts *d = qt_due_counts_new();

    CHECK_INT(qt_due_by(d, INT64_MAX / 2), 0);
    qt_due_note(d, -5); /* due before the start: counts as due at the start */
    qt_due_note(d, 0);
    for (int64_t i = 1; i < 4096; i++)
        qt_due_note(d, i << 20);
    CHECK_INT(qt_due_by(d, -1), 0);
    for (int64_t i = 0; i < 4096; i++)
        CHECK_INT(qt_due_by(d, ((i + 1) << 20) - 1), i + 2);
    CHECK_INT(qt_due_by(d, INT64_MAX / 2), 4097);
    qt_due_counts_free(d);
}

/* In a run of any length no event is lost, and the count never decreases and stays accurate. */
static void any_length(int64_t step_ns)
{
    struct qt_due_counts *d = qt_due_counts_new();
    int64_t before = 0, n = 20000;

    for (int64_t i = 0; i < n; i++)
        qt_due_note(d, i * step_ns);
    for (int64_t i = 0; i < n; i += 7) {
        int64_t due = qt_due_by(d, i * step_ns), off = due - (i + 1);
        CHECK(due >= before);
        CHECK((off < 0 ? -off : off) <= 2); /* events are evenly spaced, so the error is far below a bucket */
        before = due;
    }
    CHECK_INT(qt_due_by(d, (n - 1) * step_ns), n);
    qt_due_counts_free(d);
}

static void counts_are_accurate_for_short_and_long_runs(void)
{
    any_length(1000);
    any_length(1 * MS);
    any_length(100 * MS);
    any_length(60 * 1000 * MS);
}

/* For bursts of events with pauses between the bursts, the count is accurate to one bucket. */
static void counts_of_bursts_are_accurate_to_one_bucket(void)
{
    struct qt_due_counts *d = qt_due_counts_new();
    int64_t second = 1000 * MS, bucket = 3600 * second / 2048;

    for (int64_t i = 0; i <= 3600; i += 60)
        for (int k = 0; k < 10; k++)
            qt_due_note(d, i * second);
    for (int64_t i = 0; i < 3600; i++) {
        int64_t due = qt_due_by(d, i * second);
        CHECK(due <= 10 * (i / 60 + 1));
        CHECK(due >= 10 * ((i * second - bucket) / second / 60 + (i * second >= bucket)));
    }
    qt_due_counts_free(d);
}

static void *noter(void *arg)
{
    for (int64_t i = 0; i < 20000; i++)
        qt_due_note(arg, i * MS);
    return NULL;
}

/* One thread adds events while another thread reads the count. */
static void count_never_decreases_while_a_thread_adds_events(void)
{
    struct qt_due_counts *d = qt_due_counts_new();
    pthread_t thread;
    int64_t before = 0;

    CHECK_INT(pthread_create(&thread, NULL, noter, d), 0);
    while (before < 20000) {
        int64_t due = qt_due_by(d, 20000 * MS);
        CHECK(due >= before);
        before = due;
    }
    pthread_join(thread, NULL);
    qt_due_counts_free(d);
}

/* The conversions between plan time and clock time are inverse to each other, regardless of earlier speeds. */
static void clock_and_plan_times_convert_back_and_forth(void)
{
    static struct qt_engine e;
    int64_t now;

    pthread_mutex_init(&e.schedule.speed.lock, NULL);
    e.schedule.speed.factor = 1;
    atomic_store(&e.schedule.zero_ns, qt_now() - 5000 * MS);
    CHECK_INT(qt_clock_to_plan(&e, atomic_load(&e.schedule.zero_ns) + 77), 77);
    CHECK_INT(qt_engine_set_speed(&e, 4, NULL), QT_OK);
    now = qt_now();
    CHECK(qt_clock_to_plan(&e, now) >= 5000 * MS && qt_clock_to_plan(&e, now) < 60000 * MS);
    for (int64_t ns = 6000 * MS; ns < 90000 * MS; ns += 1234567) {
        int64_t back = qt_clock_to_plan(&e, qt_plan_to_clock(&e, ns));
        CHECK(back <= ns && back > ns - 8); /* 1 ns of the clock is 4 ns of the plan */
    }
    pthread_mutex_destroy(&e.schedule.speed.lock);
}

static int64_t last_due;

/* Checks during a run that the number of due events never falls and is at least the number of executed events. */
static void look(struct replay *r)
{
    struct qt_engine_stats stats;
    int64_t due;

    qt_engine_peek(r->engine, &stats);
    due = qt_engine_due(r->engine);
    CHECK(due >= last_due);
    CHECK(due >= (int64_t)stats.counts.executed - 1); /* accurate to one bucket */
    last_due = due;
}

static void due_events_of_a_run_are_counted(void)
{
    struct replay r;

    last_due = 0;
    replay_init(&r);
    replay_session(&r, 1, -5, 50, NULL);
    for (int64_t i = 1; i <= 50; i++)
        replay_event(&r, 1, i, i * 10 * MS, "x");
    r.each_slice = look;
    replay_run(&r);
    CHECK(last_due >= 49);
    CHECK_INT(qt_engine_due(r.engine), 50);
    replay_free(&r);
}

/* At a pace without due times, no event counts as due. */
static void no_event_is_due_at_a_pace_without_due_times(void)
{
    for (int32_t pace = QT_PACE_THINK; pace <= QT_PACE_NONE; pace++) {
        struct replay r;
        replay_init(&r);
        r.options.pace = pace;
        replay_session(&r, 1, -5, 1, NULL);
        replay_event(&r, 1, 1, 0, "x");
        replay_run(&r);
        CHECK_INT(qt_engine_due(r.engine), -1);
        replay_free(&r);
    }
}

int main(void)
{
    RUN(counts_of_one_millisecond_buckets_are_exact);
    RUN(counts_are_accurate_for_short_and_long_runs);
    RUN(counts_of_bursts_are_accurate_to_one_bucket);
    RUN(count_never_decreases_while_a_thread_adds_events);
    RUN(clock_and_plan_times_convert_back_and_forth);
    RUN(due_events_of_a_run_are_counted);
    RUN(no_event_is_due_at_a_pace_without_due_times);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/stats.h"

#include "check.h"
#include "replay_run.h"

static struct qt_engine_meters seen, last;
static int looks;

/* During the run no meter decreases, and cumulative buckets increase with their bounds. */
static void look(struct replay *r)
{
    struct qt_engine_stats stats;

    last = seen;
    qt_engine_meters(r->engine, &seen);
    qt_engine_peek(r->engine, &stats);
    CHECK_INT(stats.p95_ns, -1);
    CHECK_INT(stats.late_p99_ns, -1);
    looks++;
    for (int i = 0; i < QT_METER_BOUNDS; i++) {
        CHECK(seen.late.below[i] >= last.late.below[i]);
        CHECK(seen.late.below[i] >= (i > 0 ? seen.late.below[i - 1] : 0) && seen.late.below[i] <= seen.late.all);
    }
    CHECK(seen.late.sum_ns >= last.late.sum_ns && seen.n_errors >= last.n_errors);
}

/* The meters for lateness by cause, service time by class and errors by number agree with the outcomes to the
 * nanosecond. */
static void meters_agree_with_the_outcomes(void)
{
    struct replay r;
    int64_t late = 0, service = 0;
    uint64_t below = 0;

    looks = 0;
    memset(&seen, 0, sizeof seen);
    replay_init(&r);
    replay_session(&r, 1, -5, 4, NULL);
    replay_session(&r, 2, 10 * MS, 2, NULL);
    replay_event(&r, 1, 1, 0, "SLEEP 150");
    replay_event(&r, 1, 2, 50 * MS, "late by its session");
    replay_event(&r, 2, 1, 0, "its session opens after that");
    replay_event(&r, 2, 2, 2990 * MS, "ERROR");
    replay_event(&r, 1, 3, 3000 * MS, "ERROR");
    replay_event(&r, 1, 4, 6000 * MS, "punctual");
    r.each_slice = look;
    replay_run(&r);
    CHECK(looks > 2);
    qt_engine_meters(r.engine, &seen);
    for (size_t i = 0; i < r.n; i++) {
        late += r.outcome[i].sent_ns - r.outcome[i].due_ns;
        service += r.outcome[i].done_ns - r.outcome[i].sent_ns;
        below += r.outcome[i].done_ns - r.outcome[i].sent_ns < (INT64_C(1) << (QT_METER_FIRST + 14));
    }
    CHECK_INT(seen.late.all, 6);
    CHECK_INT(seen.late.sum_ns, late);
    CHECK_INT(seen.service[QT_KIND_WRITE].all, 6);
    CHECK_INT(seen.service[QT_KIND_WRITE].sum_ns, service);
    CHECK_INT(seen.service[QT_KIND_WRITE].below[14], below);
    CHECK_INT(seen.service[QT_KIND_READ].all, 0);
    CHECK_INT(seen.delay[QT_LATE_SESSION].all, 1);
    CHECK(seen.delay[QT_LATE_SESSION].sum_ns >= 99 * MS && seen.delay[QT_LATE_SESSION].sum_ns <= late);
    CHECK_INT(seen.delay[QT_LATE_SESSION].below[6], 0); /* 2^19 ns, half a millisecond */
    CHECK_INT(seen.delay[QT_LATE_CONNECT].all, 1);
    CHECK(seen.delay[QT_LATE_CONNECT].sum_ns >= 9 * MS);
    CHECK_INT(seen.delay[QT_LATE_ORDER].all, 0);
    CHECK_INT(seen.delay[QT_LATE_TOOL].all, 6);
    CHECK_INT(seen.n_errors, 1);
    CHECK_INT(seen.error_number[0], 1064);
    CHECK_INT(seen.error_count[0], 2);
    CHECK_INT(seen.errors_elsewhere, 0);
    CHECK_INT(seen.last_due_ns, 6000 * MS);
    replay_free(&r);
}

/* At a pace without due times no event is late. Service times are measured as usual. */
static void no_event_is_late_at_a_pace_without_due_times(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, 2, NULL);
    replay_event(&r, 1, 1, 0, "SELECT 1");
    replay_event(&r, 1, 2, 1, "SELECT 2");
    replay_run(&r);
    qt_engine_meters(r.engine, &seen);
    CHECK_INT(seen.service[QT_KIND_READ].all, 2);
    CHECK_INT(seen.late.all, 0);
    CHECK_INT(seen.late.sum_ns, 0);
    for (int c = 0; c < QT_CAUSES; c++)
        CHECK_INT(seen.delay[c].all + (uint64_t)seen.delay[c].sum_ns, 0);
    replay_free(&r);
}

/* Up to QT_METER_ERRORS error numbers have their own count, even if they share a hash slot. Further numbers share one
 * count. */
static void further_error_numbers_share_one_count(void)
{
    static struct qt_engine e;
    uint64_t all = 0;

    for (int32_t n = 1; n <= QT_METER_ERRORS; n++)
        qt_meter_error(&e, n * QT_METER_ERRORS + 7);
    for (int i = 0; i < 3; i++) {
        qt_meter_error(&e, 65535);
        qt_meter_error(&e, 3 * QT_METER_ERRORS + 7);
    }
    qt_engine_meters(&e, &seen);
    CHECK_INT(seen.n_errors, QT_METER_ERRORS);
    CHECK_INT(seen.errors_elsewhere, 3);
    for (int i = 0; i < seen.n_errors; i++) {
        CHECK_INT(seen.error_count[i], seen.error_number[i] == 3 * QT_METER_ERRORS + 7 ? 4 : 1);
        all += (uint64_t)seen.error_number[i];
    }
    CHECK_INT(all, 256 * (256 * 257 / 2) + 256 * 7); /* each error number occurs once */
}

/* qt_engine_peek does not change the quantiles that the next call of qt_engine_stats returns. */
static void peek_does_not_change_the_quantiles(void)
{
    static struct qt_engine e;
    struct qt_engine_stats stats;

    pthread_mutex_init(&e.measured.lock, NULL);
    qt_histogram_note(&e.measured.service[QT_KIND_WRITE], 100);
    qt_histogram_note(&e.measured.late, 60);
    for (int i = 0; i < 3; i++)
        qt_engine_peek(&e, &stats);
    CHECK_INT(stats.p95_ns, -1);
    qt_engine_stats(&e, &stats);
    CHECK_INT(stats.p95_ns, 100);
    CHECK_INT(stats.late_p99_ns, 60);
    qt_engine_stats(&e, &stats);
    CHECK_INT(stats.p95_ns, -1);
    pthread_mutex_destroy(&e.measured.lock);
}

int main(void)
{
    RUN(peek_does_not_change_the_quantiles);
    RUN(meters_agree_with_the_outcomes);
    RUN(no_event_is_late_at_a_pace_without_due_times);
    RUN(further_error_numbers_share_one_count);
    return 0;
}

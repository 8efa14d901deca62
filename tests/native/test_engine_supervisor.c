/* SPDX-License-Identifier: Apache-2.0 */
/* The end of runs and sessions: stops, drains, and servers that refuse, vanish or stay silent. */
#include <unistd.h>

#include "check.h"
#include "replay_run.h"

/* Plans three sessions: one never gets a reply, one is slow, and one has sent nothing yet. */
static void plan_with_a_hanging_session(struct replay *r)
{
    replay_init(r);
    for (int64_t s = 1; s <= 3; s++)
        replay_session(r, s, 0, 2, NULL);
    replay_event(r, 1, 1, 0, "HANG");
    replay_event(r, 2, 1, 0, "HOLD 1");
    replay_event(r, 1, 2, 1, "x");
    replay_event(r, 2, 2, 1, "x");
    replay_event(r, 3, 1, 60000 * MS, "x");
    replay_event(r, 3, 2, 60001 * MS, "x");
}

static void stop_soon(struct replay *r)
{
    if (r->stats.now_ns > 150 * MS && !r->stopped)
        qt_engine_stop(r->engine, r->stopped = 1);
}

/* Returns whether the server has received the hanging and the slow statement. */
static int has_asked(struct replay *r)
{
    return fake_count(&r->server, 3, "HANG") == 1 && fake_count(&r->server, 3, "HOLD 1") == 1;
}

static int64_t draining_ns;

static void stop_when_asked(struct replay *r)
{
    if (has_asked(r) && !r->stopped)
        qt_engine_stop(r->engine, r->stopped = 1);
    if (r->stats.state == QT_ENGINE_DRAINING && draining_ns == 0) {
        draining_ns = r->stats.now_ns;
        r->server.let_go = 1;
    }
}

static void stop_hard_when_asked(struct replay *r)
{
    if (has_asked(r) && !r->stopped)
        qt_engine_stop(r->engine, r->stopped = 2);
}

static void stop_before_zero(struct replay *r)
{
    if (!r->stopped)
        qt_engine_stop(r->engine, r->stopped = 1);
}

/* A gentle stop sends nothing more and waits for replies. It cuts off replies that exceed the drain time. */
static void gentle_stop_waits_for_replies(void)
{
    struct replay r;

    plan_with_a_hanging_session(&r);
    r.options.drain_ns = 4000 * MS;
    r.each_slice = stop_when_asked;
    replay_run(&r);
    CHECK(fake_now() - r.begun_ns < 30000 * MS);
    CHECK_INT(replay_find(&r, 2, 1)->error, 0);
    CHECK(draining_ns > 0 && replay_find(&r, 2, 1)->done_ns >= draining_ns);
    CHECK_INT(replay_find(&r, 1, 1)->error, 2013);
    CHECK(replay_find(&r, 1, 1)->done_ns == NO_VALUE);
    CHECK_TEXT(replay_find(&r, 1, 1)->status, "executed");
    CHECK_TEXT(replay_find(&r, 1, 1)->text, "no reply: the run was stopped");
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 4);
    CHECK_INT(r.stats.counts.drain_timeout, 1);
    replay_free(&r);
}

static int64_t limit_ns; /* from the run's zero; at most a few microseconds too late */

static void limit_soon(struct replay *r)
{
    int64_t now = fake_now();

    qt_engine_peek(r->engine, &r->stats);
    if (limit_ns != 0 || r->stats.now_ns < 100 * MS)
        return;
    limit_ns = r->stats.now_ns + 200 * MS;
    qt_engine_send_until(r->engine, now + 200 * MS);
}

/* The engine stops itself if nobody moves the limit. */
static void nothing_is_sent_after_the_limit(void)
{
    struct replay r;
    int sent = 0;

    replay_init(&r);
    for (int64_t s = 1; s <= 3; s++)
        replay_session(&r, s, 0, 2000, NULL);
    for (int64_t i = 1; i <= 2000; i++)
        for (int64_t s = 1; s <= 3; s++)
            replay_event(&r, s, i, i * 10 * MS, "x");
    r.each_slice = limit_soon;
    replay_run(&r);
    for (size_t i = 0; i < r.n; i++)
        if (strcmp(r.outcome[i].status, "executed") == 0) {
            CHECK(r.outcome[i].sent_ns <= limit_ns);
            sent++;
        }
    CHECK(sent > 0);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 6000 - sent);
    replay_free(&r);
}

static void hard_stop_does_not_wait_for_replies(void)
{
    struct replay r;

    plan_with_a_hanging_session(&r);
    r.options.drain_ns = 60000 * MS;
    r.each_slice = stop_hard_when_asked;
    replay_run(&r);
    CHECK(fake_now() - r.begun_ns < 30000 * MS);
    CHECK_INT(replay_find(&r, 1, 1)->error, 2013);
    CHECK_INT(replay_find(&r, 2, 1)->error, 2013);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 4);
    CHECK_INT(r.stats.counts.drain_timeout, 2);
    replay_free(&r);
}

/* A stop during the opening of sessions ends the run. Every fed event is accounted for. */
static void stop_while_sessions_open_ends_the_run(void)
{
    struct replay r;

    replay_init(&r);
    r.options.connect_rate = 1;
    for (int64_t s = 1; s <= 200; s++)
        replay_session(&r, s, 0, 1, NULL);
    for (int64_t s = 1; s <= 200; s++)
        replay_event(&r, s, 1, s, "x");
    r.each_slice = stop_before_zero;
    replay_run(&r);
    CHECK(fake_now() - r.begun_ns < 30000 * MS);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), (int)r.n);
    replay_free(&r);
}

/* A stop releases a feeder that waits for room in the queue. */
static void stop_releases_a_waiting_feeder(void)
{
    struct replay r;

    replay_init(&r);
    r.options.queue_bytes = 500;
    r.options.drain_ns = 100 * MS;
    replay_session(&r, 1, 0, 1000, NULL);
    for (int64_t i = 1; i <= 1000; i++)
        replay_event(&r, 1, i, i * 1000 * MS, "x");
    r.each_slice = stop_soon;
    replay_run(&r);
    CHECK_INT(r.fed_code, QT_OK);
    CHECK(r.n > 0 && r.n < 20);
    replay_free(&r);
}

/* Events that were fed late because the queue was full still get the full drain time. */
static void drain_time_starts_after_the_last_fed_event(void)
{
    struct replay r;

    replay_init(&r);
    r.options.queue_bytes = 500;
    r.options.drain_ns = 3500 * MS;
    replay_session(&r, 1, 0, 21, NULL);
    replay_event(&r, 1, 1, 0, "SLEEP 4500");
    for (int64_t i = 2; i <= 21; i++)
        replay_event(&r, 1, i, i * MS, "x");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "executed", NULL), 21);
    CHECK_INT(r.stats.counts.drain_timeout, 0);
    replay_free(&r);
}

/* After the last due time plus the drain time, waiting events are cut off and counted. Queued events are not sent. */
static void hanging_events_are_cut_off_after_the_drain_time(void)
{
    struct replay r;

    replay_init(&r);
    r.options.drain_ns = 3000 * MS;
    replay_session(&r, 1, 0, 2, NULL);
    replay_session(&r, 2, 0, 1, NULL);
    replay_event(&r, 1, 1, 0, "HANG");
    replay_event(&r, 1, 2, 1, "x");
    replay_event(&r, 2, 1, 100 * MS, "x");
    replay_run(&r);
    CHECK(fake_now() - r.begun_ns < 30000 * MS);
    CHECK_TEXT(replay_find(&r, 1, 1)->text, "no reply before the end of --drain");
    CHECK_TEXT(replay_find(&r, 1, 2)->reason, "drain_timeout");
    CHECK_INT(replay_find(&r, 2, 1)->error, 0);
    CHECK_INT(r.stats.counts.drain_timeout, 1);
    replay_free(&r);
}

/* Events have no due time at max pace, so the drain time starts at the last reply. */
static void drain_time_starts_at_the_last_reply_at_max_pace(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    r.options.drain_ns = 2500 * MS;
    replay_session(&r, 1, 0, 8, NULL);
    for (int64_t i = 1; i <= 7; i++)
        replay_event(&r, 1, i, i, "SLEEP 500");
    replay_event(&r, 1, 8, 8, "HANG");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "executed", NULL), 8);
    CHECK_INT(r.stats.counts.drain_timeout, 1);
    replay_free(&r);
}

/* After a lost connection, the event in flight counts as executed without an end. The later events of its session are
 * not sent. */
static void lost_connection_ends_only_its_session(void)
{
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, 0, 3, NULL);
    replay_session(&r, 2, 0, 1, NULL);
    replay_event(&r, 1, 1, 0, "x");
    replay_event(&r, 1, 2, 1, "DROP");
    replay_event(&r, 1, 3, 2, "x");
    replay_event(&r, 2, 1, 50 * MS, "x");
    replay_run(&r);
    CHECK_TEXT(replay_find(&r, 1, 2)->status, "executed");
    CHECK_INT(replay_find(&r, 1, 2)->error, 2013);
    CHECK(replay_find(&r, 1, 2)->done_ns == NO_VALUE && replay_find(&r, 1, 2)->first_ns == NO_VALUE);
    CHECK_TEXT(replay_find(&r, 1, 3)->reason, "connection_lost");
    CHECK(replay_find(&r, 1, 3)->sent_ns == NO_VALUE && replay_find(&r, 1, 3)->error == NO_VALUE);
    CHECK_INT(replay_find(&r, 2, 1)->error, 0);
    CHECK_INT(r.stats.counts.sessions_lost, 1);
    replay_free(&r);
}

static void check_none_connected(struct replay *r, int errno_wanted)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;

    replay_session(r, 1, 0, 1, NULL);
    replay_session(r, 2, 5 * MS, 1, NULL);
    replay_event(r, 1, 1, 0, "x");
    replay_event(r, 2, 1, 10 * MS, "x");
    replay_run(r);
    CHECK_INT(replay_count(r, "not_sent", "connect_failed"), 2);
    CHECK_INT(r->stats.counts.sessions_failed, 2);
    CHECK_INT(qt_engine_session_results(r->engine, &stream, NULL), QT_OK);
    CHECK_INT(stream.get_next(&stream, &batch), 0);
    CHECK_INT(batch.length, 2);
    CHECK_INT(((const int32_t *)batch.children[11]->buffers[1])[0], errno_wanted);
    batch.release(&batch);
    stream.release(&stream);
}

/* If no server listens or the login is refused, each session fails with the errno and its events are not sent. */
static void refused_connections_are_counted(void)
{
    struct replay r;

    replay_init(&r);
    r.options.port = 1;
    check_none_connected(&r, 2002);
    replay_free(&r);
    replay_init(&r);
    r.server.refuses = 1;
    check_none_connected(&r, 1045);
    replay_free(&r);
}

/* A server that accepts connections but stays silent costs only the connect time-out. */
static void silent_server_costs_only_the_connect_timeout(void)
{
    struct replay r;

    replay_init(&r);
    r.server.silent = 1;
    r.options.connect_timeout_s = 1;
    check_none_connected(&r, 2013);
    CHECK(fake_now() - r.begun_ns < 15000 * MS);
    replay_free(&r);
}

/* A hard stop does not wait for hanging connects. */
static void hard_stop_does_not_wait_for_connects(void)
{
    struct replay r;

    replay_init(&r);
    r.server.silent = 1;
    r.options.connect_timeout_s = 30;
    replay_session(&r, 1, 0, 1, NULL);
    replay_event(&r, 1, 1, 0, "x");
    r.each_slice = stop_before_zero;
    r.options.drain_ns = 100 * MS;
    replay_run(&r);
    CHECK(fake_now() - r.begun_ns < 20000 * MS);
    replay_free(&r);
}

/* An engine may be freed at any time, even during a run with unread outcomes. */
static void engine_may_be_freed_during_a_run(void)
{
    struct qt_engine_options options;
    struct replay r;

    replay_init(&r);
    options = r.options;
    r.engine = qt_engine_new(&options, NULL);
    CHECK_INT(qt_engine_start(r.engine, NULL), QT_OK);
    CHECK_INT(qt_engine_start(r.engine, NULL), QT_ESTATE);
    replay_free(&r);
    replay_init(&r);
    r.options.host = NULL;
    CHECK(qt_engine_new(&r.options, NULL) == NULL);
    replay_free(&r);
}

/* A session that ends inside a transaction is marked. Its times are in chronological order. */
static void session_that_ends_inside_a_transaction_is_marked(void)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, 0, 1, NULL);
    replay_session(&r, 2, 20 * MS, 1, "shop");
    replay_event(&r, 1, 1, 0, "BEGIN");
    replay_event(&r, 2, 1, 30 * MS, "x");
    replay_run(&r);
    CHECK_INT(qt_engine_session_results(r.engine, &stream, NULL), QT_OK);
    CHECK_INT(stream.get_next(&stream, &batch), 0);
    CHECK_INT(batch.length, 2);
    CHECK_INT(((const uint8_t *)batch.children[10]->buffers[1])[0] & 3, 1);
    for (int i = 0; i < 2; i++) {
        int64_t began = ((const int64_t *)batch.children[4]->buffers[1])[i];
        int64_t ready = ((const int64_t *)batch.children[5]->buffers[1])[i];
        int64_t closed = ((const int64_t *)batch.children[6]->buffers[1])[i];
        CHECK(began < ready && ready < closed);
        CHECK(i == 0 ? ready < 0 : began >= 20 * MS);
        CHECK_INT(((const int64_t *)batch.children[8]->buffers[1])[i], 1);
    }
    batch.release(&batch);
    stream.release(&stream);
    replay_free(&r);
}

/* If the system refuses more threads, the affected sessions fail to connect. The run continues to its end. */
static void sessions_without_a_thread_fail_to_connect(void)
{
    struct replay r;

    replay_init(&r);
    r.options.stack_bytes = 1LL << 46;
    r.options.queue_bytes = 300;
    replay_session(&r, 1, 0, 20, NULL);
    replay_session(&r, 2, 5 * MS, 20, NULL);
    for (int64_t i = 0; i < 40; i++)
        replay_event(&r, 1 + i % 2, 1 + i / 2, i * MS, "x");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "not_sent", "connect_failed"), 40);
    replay_free(&r);
}

/* Outcomes are kept until a late reader takes them. */
static void outcomes_are_kept_for_a_late_reader(void)
{
    struct replay r;

    replay_init(&r);
    r.no_reading = 1;
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, 3000, NULL);
    for (int64_t i = 1; i <= 3000; i++)
        replay_event(&r, 1, i, i, "x");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "executed", NULL), 3000);
    replay_free(&r);
}

int main(void)
{
    RUN(gentle_stop_waits_for_replies);
    RUN(nothing_is_sent_after_the_limit);
    RUN(hard_stop_does_not_wait_for_replies);
    RUN(stop_while_sessions_open_ends_the_run);
    RUN(stop_releases_a_waiting_feeder);
    RUN(drain_time_starts_after_the_last_fed_event);
    RUN(hanging_events_are_cut_off_after_the_drain_time);
    RUN(drain_time_starts_at_the_last_reply_at_max_pace);
    RUN(lost_connection_ends_only_its_session);
    RUN(refused_connections_are_counted);
    RUN(silent_server_costs_only_the_connect_timeout);
    RUN(hard_stop_does_not_wait_for_connects);
    RUN(engine_may_be_freed_during_a_run);
    RUN(session_that_ends_inside_a_transaction_is_marked);
    RUN(sessions_without_a_thread_fail_to_connect);
    RUN(outcomes_are_kept_for_a_late_reader);
    return 0;
}

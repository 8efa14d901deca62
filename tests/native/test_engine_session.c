/* SPDX-License-Identifier: Apache-2.0 */
/* Handling of lost connections, slow statements, too many errors and a full queue. The file also tests KILL and logins
 * inside a session. */
#include "base/clock.h"
#include "check.h"
#include "replay_run.h"

static void event(struct replay *r, int64_t session, int64_t seq, const char *sql)
{
    replay_event(r, session, seq, 0, sql);
}

/* A lost session reopens at its next transaction. The rest of the lost transaction is not sent. */
static void lost_session_reopens_at_its_next_transaction(void)
{
    static const char *const SQL[] = {"a", "DROP", "b", "BEGIN", "c", "DROP", "ROLLBACK TO x", " COMMIT", "e"};
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    r.options.on_lost = QT_LOST_REOPEN;
    replay_session(&r, 1, 0, 9, NULL);
    for (int i = 0; i < 9; i++)
        event(&r, 1, i + 1, SQL[i]);
    replay_run(&r);
    CHECK_INT(r.stats.counts.sessions_reopened, 2);
    CHECK_INT(r.stats.counts.sessions_lost, 2);
    CHECK_INT(replay_count(&r, "not_sent", "transaction_lost"), 2);
    CHECK_TEXT(replay_find(&r, 1, 3)->status, "executed");
    CHECK_TEXT(replay_find(&r, 1, 7)->reason, "transaction_lost");
    CHECK_TEXT(replay_find(&r, 1, 9)->status, "executed");
    CHECK_INT(fake_count(&r.server, 3, "ROLLBACK TO x"), 0);
    replay_free(&r);
}

static void greet_again(struct replay *r)
{
    if (r->stats.counts.not_sent > 0)
        r->server.refuses = 0;
}

/* Due events are not sent while the target is unreachable. Later events are kept, and are sent after the target
 * returns. */
static void later_events_are_sent_after_the_target_returns(void)
{
    struct replay r;

    replay_init(&r);
    r.options.on_lost = QT_LOST_REOPEN;
    r.each_slice = greet_again;
    r.server.leaves = 1;
    replay_session(&r, 1, -5, 4, NULL);
    event(&r, 1, 1, "DROP");
    replay_event(&r, 1, 2, 300 * MS, "a");
    replay_event(&r, 1, 3, 5000 * MS, "b");
    replay_event(&r, 1, 4, 5010 * MS, "c");
    replay_run(&r);
    CHECK_TEXT(replay_find(&r, 1, 2)->reason, "connection_lost");
    CHECK_TEXT(replay_find(&r, 1, 3)->status, "executed");
    CHECK_TEXT(replay_find(&r, 1, 4)->status, "executed");
    CHECK_INT(r.stats.counts.sessions_reopened, 1);
    replay_free(&r);
}

/* One lost connection ends the run, and the run reports this reason. */
static void lost_connection_can_end_the_run(void)
{
    struct replay r;

    replay_init(&r);
    r.options.on_lost = QT_LOST_STOP;
    replay_session(&r, 1, 0, 1, NULL);
    replay_session(&r, 2, 0, 1, NULL);
    event(&r, 1, 1, "DROP");
    replay_event(&r, 2, 1, 60000 * MS, "late");
    replay_run(&r);
    CHECK_INT(r.stats.ended_by, QT_BY_LOSS);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 1);
    replay_free(&r);
}

/* A slow statement is killed by its connection id, with a short and a long limit. On a busy machine other statements
 * may also exceed the short limit. */
static void slow_statements_are_killed(void)
{
    for (int64_t limit = 400; limit <= 2500; limit += 2100) {
        struct replay r;

        replay_init(&r);
        r.options.pace = QT_PACE_NONE;
        r.options.statement_timeout_ns = limit * MS;
        replay_session(&r, 1, 0, 3, NULL);
        event(&r, 1, 1, "a");
        event(&r, 1, 2, "UNTIL KILL");
        event(&r, 1, 3, "b");
        replay_run(&r);
        CHECK(r.stats.counts.timeouts == 1 || (limit == 400 && r.stats.counts.timeouts > 1));
        CHECK_INT(fake_count(&r.server, 3, "KILL QUERY 1"), r.stats.counts.timeouts);
        CHECK_INT(replay_find(&r, 1, 2)->error, 1317);
        CHECK_INT(r.stats.counts.executed, 3);
        replay_free(&r);
    }
}

/* The run ends at the first error beyond max_errors. */
static void too_many_errors_end_the_run(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    r.options.max_errors = 2;
    replay_session(&r, 1, 0, 6, NULL);
    for (int i = 1; i <= 6; i++)
        event(&r, 1, i, "ERROR");
    replay_run(&r);
    CHECK_INT(r.stats.counts.errors, 3);
    CHECK_INT(r.stats.ended_by, QT_BY_ERRORS);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 3);
    replay_free(&r);
}

/* Two statements fill the queue, and each takes 50 ms. The feeder finds the queue full even if it runs late. */
static void overload(struct replay *r, int32_t policy)
{
    static char big[40000];
    int n = snprintf(big, sizeof big, "SLEEP 50 ");
    memset(big + n, 'x', sizeof big - (size_t)n - 1);
    replay_init(r);
    r->options.queue_bytes = 100000;
    r->options.overload = policy;
    replay_session(r, 1, -5, 21, NULL);
    replay_event(r, 1, 1, 0, "SLEEP 400");
    for (int i = 2; i <= 21; i++)
        replay_event(r, 1, i, i < 4 ? 1 : i * MS, big);
    replay_run(r);
}

/* Policies for a full queue while events are overdue: wait (late, but everything is sent), drop, or stop. */
static void overload_policy_waits_drops_or_stops(void)
{
    struct replay r;

    overload(&r, QT_OVERLOAD_WAIT);
    CHECK_INT(r.stats.counts.executed, 21);
    CHECK(r.stats.counts.overload_waits > 0);
    replay_free(&r);
    overload(&r, QT_OVERLOAD_DROP);
    CHECK(r.stats.counts.overload_drops > 0);
    CHECK_INT(replay_count(&r, "not_sent", "overload"), (int)r.stats.counts.overload_drops);
    CHECK_INT(r.stats.counts.executed, 21 - (int)r.stats.counts.overload_drops);
    replay_free(&r);
    overload(&r, QT_OVERLOAD_STOP);
    CHECK_INT(r.stats.ended_by, QT_BY_OVERLOAD);
    CHECK(r.stats.counts.executed < 21);
    replay_free(&r);
}

static void let_go_at_the_end(struct replay *r) { r->server.let_go = r->stats.counts.not_sent > 0; }

/* KILL is mapped to the connection id of the session in this run. A session without a connection is not killed. */
static void kill_is_mapped_to_the_connection_id_of_the_run(void)
{
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, -5, 3, NULL);
    replay_session(&r, 70, -5, 1, NULL);
    replay_put(&r, &(struct planned){.session = 1, .seq = 1, .command = 18, .stmt = 70, .sql = "QUERY", .len = 5});
    replay_put(&r, &(struct planned){.session = 1, .seq = 2, .command = 18, .stmt = 1, .sql = "CONNECTION", .len = 10});
    replay_put(&r, &(struct planned){.session = 1, .seq = 3, .command = 18, .stmt = 999, .sql = "QUERY", .len = 5});
    replay_event(&r, 70, 1, 0, "HOLD 1");
    r.each_slice = let_go_at_the_end;
    replay_run(&r);
    CHECK_TEXT(replay_find(&r, 1, 3)->reason, "kill_target_unknown");
    int first = fake_count(&r.server, 3, "KILL QUERY 2") == 1;
    CHECK_INT(fake_count(&r.server, 3, first ? "KILL 1" : "KILL 2"), 1);
    CHECK_INT(fake_count(&r.server, 3, first ? "KILL QUERY 2" : "KILL QUERY 1"), 1);
    replay_free(&r);
}

/* CHANGE_USER and SET_OPTION are sent. CHANGE_USER sets the character set and sends the init statement again. */
static void change_user_and_set_option_are_sent(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    r.options.init = "SET x";
    replay_session(&r, 1, 0, 3, NULL);
    replay_put(&r, &(struct planned){.session = 1, .seq = 1, .command = 11, .db = "shop"});
    replay_put(&r, &(struct planned){.session = 1, .seq = 2, .command = 19, .params = "C\0\0", .params_len = 3});
    replay_put(&r, &(struct planned){.session = 1, .seq = 3, .command = 1, .db = "shop", .sql = "a", .len = 1});
    replay_run(&r);
    CHECK_INT(r.stats.counts.executed, 3);
    CHECK_INT(fake_count(&r.server, 17, NULL), 1);
    CHECK_INT(fake_count(&r.server, 27, NULL), 1);
    CHECK_INT(fake_count(&r.server, 2, NULL), 0);
    CHECK_INT(fake_count(&r.server, 3, "SET x"), 2);
    replay_free(&r);
}

/* If an injected command loses the connection, the next event is not sent and not counted as sent. */
static void event_after_a_failed_injected_command_is_not_sent(void)
{
    static const struct {
        int drops;
        struct planned event;
    } CASES[] = {
        {2, {.db = "other", .sql = "a", .len = 1}},
        {3, {.clock_us = 5, .sql = "a", .len = 1}},
        {3, {.insert_id = 5, .sql = "a", .len = 1}},
        {0x1b, {.sql = "INSERT a; INSERT b", .len = 18}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct planned e = CASES[i].event;
        struct replay r;
        replay_init(&r);
        r.options.pace = QT_PACE_NONE;
        r.server.drops = CASES[i].drops;
        replay_session(&r, 1, 0, 2, NULL);
        e.session = e.seq = e.command = 1;
        replay_put(&r, &e);
        event(&r, 1, 2, "b");
        replay_run(&r);
        CHECK_TEXT(replay_find(&r, 1, 1)->reason, "connection_lost");
        CHECK_INT(replay_count(&r, "not_sent", "connection_lost"), 2);
        CHECK_INT(r.stats.counts.sessions_lost, 1);
        CHECK_INT(r.stats.counts.injected, 1);
        CHECK_INT(fake_count(&r.server, 3, e.sql), 0);
        replay_free(&r);
    }
}

int main(void)
{
    RUN(lost_session_reopens_at_its_next_transaction);
    RUN(later_events_are_sent_after_the_target_returns);
    RUN(lost_connection_can_end_the_run);
    RUN(slow_statements_are_killed);
    RUN(too_many_errors_end_the_run);
    RUN(overload_policy_waits_drops_or_stops);
    RUN(kill_is_mapped_to_the_connection_id_of_the_run);
    RUN(change_user_and_set_option_are_sent);
    RUN(event_after_a_failed_injected_command_is_not_sent);
    return 0;
}

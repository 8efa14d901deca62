/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "replay_run.h"

/* Each event of a session is sent after the previous reply, and every reply is counted. */
static void replies_are_counted_in_order(void)
{
    struct replay r;
    struct outcome *o;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 5, 0, 4, NULL);
    replay_event(&r, 5, 1, 0, "SELECT 1");
    replay_event(&r, 5, 2, 1, "ERROR");
    replay_event(&r, 5, 3, 2, "WARN");
    replay_event(&r, 5, 4, 3, "CALL");
    replay_run(&r);
    CHECK_INT(r.n, 4);
    o = r.outcome;
    CHECK_TEXT(o[0].status, "executed");
    CHECK_INT(o[0].rows, 2);
    CHECK(o[0].due_ns == NO_VALUE);
    CHECK_INT(o[1].error, 1064);
    CHECK_TEXT(o[1].text, "no such words ?");
    CHECK_INT(o[2].affected, 3);
    CHECK_INT(o[2].warnings, 2);
    CHECK_INT(o[2].bytes, 11);
    CHECK_INT(o[3].rows, 4);
    for (int i = 0; i < 4; i++)
        CHECK(o[i].free_ns <= o[i].sent_ns && o[i].sent_ns <= o[i].first_ns && o[i].first_ns <= o[i].done_ns);
    for (int i = 1; i < 4; i++)
        CHECK_INT(o[i].free_ns, o[i - 1].done_ns);
    CHECK_INT(r.stats.counts.errors, 1);
    CHECK_INT(r.stats.counts.reads, 1);
    CHECK_INT(r.stats.late_p99_ns, -1);
    CHECK_INT(fake_count(&r.server, 1, NULL), 1);
    replay_free(&r);
}

/* No event is sent before it is due. A slow reply delays only its own session. */
static void events_are_never_sent_before_they_are_due(void)
{
    struct replay r;

    replay_init(&r);
    r.options.timer_probes = 2;
    replay_session(&r, 1, -5, 3, NULL);
    replay_session(&r, 2, 60 * MS, 2, NULL);
    replay_event(&r, 1, 1, 0, "SLEEP 5000");
    replay_event(&r, 1, 2, 50 * MS, "late");
    replay_event(&r, 2, 1, 80 * MS, "punctual");
    replay_event(&r, 2, 2, 220 * MS, "punctual");
    replay_event(&r, 1, 3, 5400 * MS, "punctual");
    replay_run(&r);
    for (size_t i = 0; i < r.n; i++)
        CHECK(r.outcome[i].sent_ns >= r.outcome[i].due_ns);
    CHECK(replay_find(&r, 1, 2)->sent_ns >= 5000 * MS);
    CHECK(replay_find(&r, 1, 2)->sent_ns - replay_find(&r, 1, 2)->free_ns < 3000 * MS);
    CHECK(replay_find(&r, 2, 1)->sent_ns < replay_find(&r, 1, 1)->done_ns);
    CHECK(replay_find(&r, 2, 1)->free_ns >= 60 * MS);
    CHECK(r.stats.probe_p50_ns >= 0);
    CHECK(r.stats.tool_p50_ns >= 0 && r.stats.tool_p50_ns < 3000 * MS);
    replay_free(&r);
}

/* A session without events is opened and closed. A run without sessions ends too. */
static void empty_sessions_and_runs_end(void)
{
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, 0, 0, NULL);
    replay_session(&r, 2, 10 * MS, 0, NULL);
    replay_run(&r);
    CHECK_INT(r.stats.counts.sessions_opened, 2);
    CHECK_INT(fake_count(&r.server, 1, NULL), 2);
    replay_free(&r);
    replay_init(&r);
    replay_run(&r);
    CHECK_INT(r.stats.state, QT_ENGINE_DONE);
    replay_free(&r);
}

/* Statements arrive unchanged, including NUL bytes and empty statements. */
static void statements_arrive_unchanged(void)
{
    static const char ODD[] = "INSERT '\0\xff\n' -- x\n\0";
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, 0, 2, NULL);
    replay_full_event(&r, 1, 1, 0, 1, 0, NULL, ODD, sizeof ODD - 1);
    replay_full_event(&r, 1, 2, 1, 1, 0, NULL, "", 0);
    replay_run(&r);
    CHECK_INT(r.server.entry[0].len, sizeof ODD - 1);
    CHECK(memcmp(r.server.entry[0].bytes, ODD, sizeof ODD - 1) == 0);
    CHECK_INT(r.server.entry[1].len, 0);
    replay_free(&r);
}

/* The engine selects a schema only if it differs from the current schema of the session. USE on the tape changes the
 * current schema. A schema that does not exist is selected again when its event is due. */
static void schema_is_selected_only_when_it_changes(void)
{
    static const char *const SEEN[] = {"a", "b 1", "b", "b 2", "USE c", "c 1", "missing", "missing", "x", "x 1"};
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, 0, 8, "shop");
    replay_full_event(&r, 1, 1, 1, 1, 0, "shop", "a", 1);
    replay_full_event(&r, 1, 2, 2, 1, 0, NULL, "b 1", 3);
    replay_full_event(&r, 1, 3, 3, 1, 0, "b", "b 2", 3);
    replay_full_event(&r, 1, 4, 4, 1, QT_F_USE, "c", "USE c", 5);
    replay_full_event(&r, 1, 5, 5, 1, 0, "c", "c 1", 3);
    replay_full_event(&r, 1, 6, 6, 1, 0, "missing", "never", 5);
    replay_full_event(&r, 1, 7, 7, 8, 0, "x", NULL, 0);
    replay_full_event(&r, 1, 8, 8, 1, 0, "x", "x 1", 3);
    replay_run(&r);
    for (size_t i = 0; i < sizeof SEEN / sizeof *SEEN; i++)
        CHECK_TEXT(r.server.entry[i].bytes, SEEN[i]);
    CHECK_INT(r.stats.counts.injected, 3);
    CHECK_TEXT(replay_find(&r, 1, 6)->reason, "schema_failed");
    CHECK_INT(replay_find(&r, 1, 6)->error, 1049);
    CHECK_TEXT(replay_find(&r, 1, 7)->status, "executed");
    replay_free(&r);
}

/* ping, reset_connection and quit are sent. A reset is followed by the init statement. Other commands are refused. */
static void commands_are_sent_or_refused(void)
{
    struct replay r;

    replay_init(&r);
    r.options.init = "SET SESSION TRANSACTION READ ONLY";
    replay_session(&r, 1, 0, 5, NULL);
    replay_full_event(&r, 1, 1, 0, 9, 0, NULL, NULL, 0);
    replay_full_event(&r, 1, 2, 1, 10, 0, NULL, NULL, 0);
    replay_full_event(&r, 1, 3, 2, 14, 0, NULL, "x", 1);
    replay_full_event(&r, 1, 4, 3, 12, 0, NULL, NULL, 0);
    replay_event(&r, 1, 5, 4, "too late");
    replay_run(&r);
    CHECK_INT(fake_count(&r.server, 14, NULL), 1);
    CHECK_INT(fake_count(&r.server, 31, NULL), 1);
    CHECK_INT(fake_count(&r.server, 3, r.options.init), 2);
    CHECK_INT(fake_count(&r.server, 3, "SET NAMES utf8mb4"), 0);
    CHECK_INT(r.stats.counts.injected, 2);
    CHECK_TEXT(replay_find(&r, 1, 3)->reason, "unsupported");
    CHECK_TEXT(replay_find(&r, 1, 4)->status, "executed");
    CHECK_TEXT(replay_find(&r, 1, 5)->reason, "after_quit");
    CHECK_INT(fake_count(&r.server, 1, NULL), 1);
    replay_free(&r);
}

/* Statements larger than the budget pass one at a time. The feeder waits but never stops permanently. */
static void statements_larger_than_the_budget_are_sent(void)
{
    static char big[5000];
    struct replay r;

    memset(big, 'x', sizeof big);
    replay_init(&r);
    r.options.queue_bytes = 1000;
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, 50, NULL);
    replay_session(&r, 2, 0, 50, NULL);
    for (int64_t i = 0; i < 100; i++)
        replay_full_event(&r, 1 + i % 2, 1 + i / 2, i, 1, 0, NULL, big, i % 3 == 0 ? sizeof big : 10);
    replay_run(&r);
    CHECK_INT(replay_count(&r, "executed", NULL), 100);
    replay_free(&r);
}

/* At max pace, the engine never has more open sessions than the tape had. */
static void max_pace_keeps_the_concurrency_of_the_tape(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    for (int64_t i = 0; i < 40; i++) {
        replay_session(&r, i + 1, i * 1000 * MS, 2, NULL);
        replay_event(&r, i + 1, 1, i * 1000 * MS + 1, "SLEEP 5");
        replay_event(&r, i + 1, 2, i * 1000 * MS + 2, "SLEEP 5");
    }
    replay_run(&r);
    CHECK_INT(replay_count(&r, "executed", NULL), 80);
    for (size_t i = 2; i < r.n; i += 2)
        CHECK(r.outcome[i].sent_ns >= r.outcome[i - 1].done_ns);
    replay_free(&r);
}

/* The accounting balances for 200 sessions with different endings. replay_run checks the accounting. */
static void accounting_balances_with_many_sessions(void)
{
    static const char *const KINDS[] = {"SELECT 1", "ERROR", "WARN", "x", "CALL", "SLEEP 1"};
    struct replay r;

    replay_init(&r);
    for (int64_t s = 0; s < 200; s++)
        replay_session(&r, s + 1, s < 100 ? 0 : (s - 99) * MS, 10, s % 3 == 0 ? "shop" : NULL);
    for (int64_t i = 0; i < 2000; i++)
        replay_event(&r, 1 + i % 200, 1 + i / 200, 100 * MS + i * MS / 10,
                     i % 200 == 7 && i / 200 == 4 ? "DROP" : KINDS[i % 6]);
    replay_run(&r);
    CHECK_INT(r.n, 2000);
    CHECK_INT(replay_count(&r, "not_sent", "connection_lost"), 5);
    CHECK_INT(replay_count(&r, "executed", NULL), 1995);
    CHECK_INT(r.stats.counts.sessions_lost, 1);
    replay_free(&r);
}

/* Reads the counters thousands of times from another thread while sessions update them. */
static void ask_often(struct replay *r)
{
    struct qt_engine_stats before, now;

    qt_engine_stats(r->engine, &before);
    for (int i = 0; i < 5000; i++, before = now) {
        qt_engine_stats(r->engine, &now);
        CHECK_INT(now.counts.reads + now.counts.writes + now.counts.others, now.counts.executed);
        CHECK(now.counts.others >= before.counts.others && now.counts.others <= now.counts.executed);
        CHECK(now.counts.executed >= before.counts.executed);
    }
}

/* No class has a negative count, no matter when the counters are read. */
static void counters_add_up_at_any_moment(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    r.each_slice = ask_often;
    for (int s = 1; s <= 4; s++)
        replay_session(&r, s, 0, 15000, NULL);
    for (int i = 0; i < 60000; i++)
        replay_event(&r, i % 4 + 1, i / 4 + 1, 0, "SELECT 1");
    replay_run(&r);
    CHECK_INT(r.stats.counts.executed, 60000);
    CHECK_INT(r.stats.counts.reads, 60000);
    CHECK_INT(r.stats.counts.others, 0);
    replay_free(&r);
}

/* Invalid plans are refused with an error message. */
static void invalid_plans_are_refused(void)
{
    struct replay r;

    replay_init(&r);
    replay_session(&r, 1, 0, 1, NULL);
    replay_event(&r, 1, 1, 0, "x");
    replay_event(&r, 1, 2, 0, "x");
    replay_run(&r);
    CHECK_INT(r.fed_code, QT_EINVALID);
    CHECK_TEXT(r.fed_error.message, "session 1: expected 1 events, found more");
    replay_free(&r);
    replay_init(&r);
    replay_session(&r, 1, 0, 1, NULL);
    replay_event(&r, 9, 1, 0, "x");
    replay_run(&r);
    CHECK_TEXT(r.fed_error.message, "an event belongs to session 9, which is not in the list of sessions");
    replay_free(&r);
}

int main(void)
{
    RUN(replies_are_counted_in_order);
    RUN(events_are_never_sent_before_they_are_due);
    RUN(empty_sessions_and_runs_end);
    RUN(statements_arrive_unchanged);
    RUN(schema_is_selected_only_when_it_changes);
    RUN(commands_are_sent_or_refused);
    RUN(statements_larger_than_the_budget_are_sent);
    RUN(max_pace_keeps_the_concurrency_of_the_tape);
    RUN(accounting_balances_with_many_sessions);
    RUN(counters_add_up_at_any_moment);
    RUN(invalid_plans_are_refused);
    return 0;
}

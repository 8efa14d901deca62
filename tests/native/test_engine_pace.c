/* SPDX-License-Identifier: Apache-2.0 */
/* Think times, a speed that changes while it runs, a start at a set time. */
#include "base/clock.h"
#include "check.h"
#include "replay_run.h"

static void event(struct replay *r, int64_t seq, int64_t due_ns, int64_t span_ns, const char *sql)
{
    replay_put(r, &(struct planned){.session = 1,
                                    .seq = seq,
                                    .due_ns = due_ns,
                                    .span_ns = span_ns,
                                    .command = 1,
                                    .sql = sql,
                                    .len = strlen(sql)});
}

/* Closed loop: a slow answer moves all that follows in its session, and makes nothing late. */
static void think_times_are_kept(void)
{
    struct replay r;
    struct outcome *o;

    replay_init(&r);
    r.options.pace = QT_PACE_THINK;
    replay_session(&r, 1, -5, 4, NULL);
    event(&r, 1, 20 * MS, 10 * MS, "SLEEP 100"); /* 10 ms on the tape */
    event(&r, 2, 50 * MS, 5 * MS, "a");          /* 20 ms after the answer */
    event(&r, 3, 55 * MS, 0, "b");               /* at once */
    event(&r, 4, 50 * MS, 0, "c");               /* overlapped on the tape: at once */
    replay_run(&r);
    o = r.outcome;
    CHECK(o[0].sent_ns >= 20 * MS);
    CHECK_INT(o[1].due_ns, o[0].done_ns + 20 * MS);
    CHECK(o[1].sent_ns >= o[1].due_ns && o[1].sent_ns < o[1].due_ns + 1000 * MS);
    CHECK_INT(o[2].due_ns, o[1].done_ns);
    CHECK_INT(o[3].due_ns, o[2].done_ns);
    replay_free(&r);
}

/* The schedule's end is no end for think times: a session that thinks for longer than the drain is not cut off. */
static void thinking_is_not_cut(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_THINK;
    r.options.drain_ns = 200 * MS;
    replay_session(&r, 1, -5, 3, NULL);
    event(&r, 1, 0, 0, "SLEEP 150");
    event(&r, 2, 600 * MS, 0, "a");
    event(&r, 3, 1200 * MS, 0, "b");
    replay_run(&r);
    CHECK_INT(r.stats.executed, 3);
    CHECK_INT(r.stats.drain_timeout, 0);
    CHECK(replay_find(&r, 1, 3)->sent_ns >= 1350 * MS);
    replay_free(&r);
}

static void twice_as_fast(struct replay *r)
{
    if (!r->stopped)
        CHECK_INT(qt_engine_set_speed(r->engine, 4, NULL), QT_OK);
    r->stopped = 1;
}

/* A session that sleeps already wakes earlier; a factor that makes no sense, or a pace that has no times, is refused. */
static void the_speed_changes(void)
{
    struct replay r;

    replay_init(&r);
    r.each_slice = twice_as_fast;
    replay_session(&r, 1, -5, 2, NULL);
    replay_session(&r, 2, 1500 * MS, 1, NULL);
    event(&r, 1, 0, 0, "a");
    event(&r, 2, 2000 * MS, 0, "b");
    replay_event(&r, 2, 1, 1600 * MS, "c");
    replay_run(&r);
    CHECK(replay_find(&r, 1, 2)->sent_ns >= 500 * MS && replay_find(&r, 1, 2)->sent_ns < 1900 * MS);
    CHECK(replay_find(&r, 2, 1)->sent_ns >= 400 * MS && replay_find(&r, 2, 1)->sent_ns < 1550 * MS);
    CHECK(replay_find(&r, 1, 2)->due_ns < 1900 * MS);
    CHECK_INT(qt_engine_set_speed(r.engine, 0, NULL), QT_EINVALID);
    replay_free(&r);

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, 1, NULL);
    event(&r, 1, 0, 0, "a");
    replay_run(&r);
    CHECK_INT(qt_engine_set_speed(r.engine, 2, NULL), QT_ESTATE);
    replay_free(&r);
}

/* The run's zero waits for its time; nothing is sent before. */
static void zero_comes_at_its_time(void)
{
    struct replay r;
    int64_t at = qt_now() + 300 * MS;

    replay_init(&r);
    r.options.zero_at_ns = at;
    replay_session(&r, 1, -5, 1, NULL);
    event(&r, 1, 0, 0, "a");
    replay_run(&r);
    CHECK(r.server.entry[0].at_ns >= at);
    CHECK(replay_find(&r, 1, 1)->sent_ns >= 0);
    replay_free(&r);
}

/* The clock and insert ids are set before the statements that want them, once where it does not change. Nothing is sent
 * before one that wants neither: it may ask about the statement before it. */
static void clock_and_ids_are_set(void)
{
    static const char *const SEEN[] = {"SET timestamp=5.000001,insert_id=9", "a", "b", "SET insert_id=11", "c", "d"};
    struct planned e = {.session = 1, .command = 1, .len = 1};
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, 4, NULL);
    for (int i = 0; i < 4; i++) {
        static const char *const SQL[] = {"a", "b", "c", "d"};
        e.seq = i + 1;
        e.sql = SQL[i];
        e.clock_us = i < 3 ? 5000001 : 0;
        e.insert_id = i == 0 ? 9 : i == 2 ? 11 : 0;
        replay_put(&r, &e);
    }
    replay_run(&r);
    for (size_t i = 0; i < sizeof SEEN / sizeof *SEEN; i++)
        CHECK_TEXT(r.server.entry[i].bytes, SEEN[i]);
    CHECK_INT(r.stats.injected, 2);
    CHECK_INT(r.stats.overrides_failed, 0);
    replay_free(&r);
}

/* Each INSERT of one text gets its own id; ids that name anything else change nothing. */
static void each_statement_has_its_id(void)
{
    static const char *const CASES[][3] = {
        {"INSERT a; insert b;replace c", "0:5,10:7,19:18446744073709551615",
         "SET insert_id=5;INSERT a; SET insert_id=7;insert b;SET insert_id=18446744073709551615;replace c"},
        {"SELECT 1; INSERT b", "10:7", "SELECT 1; SET insert_id=7;INSERT b"},
        {"INSERT a; INSERT b", "0:5,11:7", "INSERT a; INSERT b"},
        {"INSERT a; INSERT b", "10:5,0:7", "INSERT a; INSERT b"},
        {"INSERT a; INSERT b", "999:5", "INSERT a; INSERT b"},
        {"INSERT a; INSERT b", "0:5;DROP TABLE a", "INSERT a; INSERT b"},
    };
    struct planned e = {.session = 1, .command = 1};
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, sizeof CASES / sizeof *CASES, NULL);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        e.seq = (int64_t)i + 1;
        e.sql = CASES[i][0];
        e.len = strlen(e.sql);
        e.insert_ids = CASES[i][1];
        replay_put(&r, &e);
    }
    replay_run(&r);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        CHECK_TEXT(r.server.entry[i + 1].bytes, CASES[i][2]); /* behind the leave to send several */
    replay_free(&r);
}

/* A client of which nothing is known may send several statements, where the text did not fail: the server is told once,
 * and again where it has forgotten. */
static void several_statements_are_allowed(void)
{
    static const struct {
        const char *sql;
        int command;
        int64_t flags;
    } EVENTS[] = {
        {"INSERT a;", 1, 0},
        {"INSERT a; INSERT b", 1, (int64_t)1 << 42}, /* QT_PLAN_FAILED */
        {"INSERT a; INSERT c", 1, 0},
        {"INSERT a; INSERT d", 1, 0},
        {NULL, 10, 0}, /* RESET_CONNECTION */
        {"INSERT a; INSERT e", 1, 0},
    };
    static const int SEEN[] = {3, 3, 0x1b, 3, 3, 0x1f, 0x1b, 3};
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, sizeof EVENTS / sizeof *EVENTS, NULL);
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        replay_full_event(&r, 1, (int64_t)i + 1, 0, EVENTS[i].command, EVENTS[i].flags, NULL, EVENTS[i].sql,
                          EVENTS[i].sql != NULL ? strlen(EVENTS[i].sql) : 0);
    replay_run(&r);
    for (size_t i = 0; i < sizeof SEEN / sizeof *SEEN; i++)
        CHECK_INT(r.server.entry[i].command, SEEN[i]);
    CHECK_INT(r.stats.several_statements, 3);
    CHECK_INT(r.stats.injected, 2);
    replay_free(&r);
}

int main(void)
{
    RUN(think_times_are_kept);
    RUN(each_statement_has_its_id);
    RUN(several_statements_are_allowed);
    RUN(thinking_is_not_cut);
    RUN(the_speed_changes);
    RUN(zero_comes_at_its_time);
    RUN(clock_and_ids_are_set);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Think times, speed changes during a run, and a start at a set time. Computed times are also tested without a run, to
 * the nanosecond. */
#include "base/clock.h"
#include "check.h"
#include "engine/pace.h"
#include "engine/engine_state.h"
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

/* Closed loop: a slow reply delays the later events of its session, but does not make them late. */
static void think_times_are_kept(void)
{
    struct replay r;
    struct outcome *o;

    replay_init(&r);
    r.options.pace = QT_PACE_THINK;
    replay_session(&r, 1, -5, 4, NULL);
    event(&r, 1, 20 * MS, 10 * MS, "SLEEP 100"); /* 10 ms on the tape */
    event(&r, 2, 50 * MS, 5 * MS, "a");          /* 20 ms after the reply */
    event(&r, 3, 55 * MS, 0, "b");               /* immediately */
    event(&r, 4, 50 * MS, 0, "c");               /* overlapped on the tape: sent immediately */
    replay_run(&r);
    o = r.outcome;
    CHECK(o[0].sent_ns >= 20 * MS);
    CHECK_INT(o[1].due_ns, o[0].done_ns + 20 * MS);
    CHECK(o[1].sent_ns >= o[1].due_ns && o[1].sent_ns < o[1].due_ns + 10000 * MS);
    CHECK_INT(o[2].due_ns, o[1].done_ns);
    CHECK_INT(o[3].due_ns, o[2].done_ns);
    replay_free(&r);
}

/* The end of the schedule does not limit think times. A session whose think time exceeds the drain time is not cut
 * off. */
static void drain_time_does_not_limit_think_times(void)
{
    struct replay r;

    replay_init(&r);
    r.options.pace = QT_PACE_THINK;
    r.options.drain_ns = 2500 * MS;
    replay_session(&r, 1, -5, 3, NULL);
    event(&r, 1, 0, 0, "SLEEP 150");
    event(&r, 2, 3500 * MS, 0, "a");
    event(&r, 3, 3600 * MS, 0, "b");
    replay_run(&r);
    CHECK_INT(r.stats.counts.executed, 3);
    CHECK_INT(r.stats.counts.drain_timeout, 0);
    CHECK(replay_find(&r, 1, 3)->sent_ns >= 3750 * MS);
    replay_free(&r);
}

static void twice_as_fast(struct replay *r)
{
    if (!r->stopped)
        CHECK_INT(qt_engine_set_speed(r->engine, 4, NULL), QT_OK);
    r->stopped = 1;
}

/* A speed change wakes sleeping sessions earlier. An invalid factor is refused. A pace without due times is also
 * refused. */
static void speed_change_wakes_sleeping_sessions(void)
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
    CHECK_INT(qt_engine_set_speed(r.engine, -1, NULL), QT_EINVALID);
    replay_free(&r);

    replay_init(&r);
    r.options.pace = QT_PACE_NONE;
    replay_session(&r, 1, 0, 1, NULL);
    event(&r, 1, 0, 0, "a");
    replay_run(&r);
    CHECK_INT(qt_engine_set_speed(r.engine, 2, NULL), QT_ESTATE);
    replay_free(&r);
}

static int64_t paused_at;

/* Pauses the run after the first event. Resumes it after nothing was sent for a long time. */
static void stand_for_a_while(struct replay *r)
{
    struct qt_engine_stats now;

    memset(&now, 0, sizeof now);
    qt_engine_peek(r->engine, &now);
    if (r->stopped == 0 && now.counts.executed == 1) {
        CHECK_INT(qt_engine_set_speed(r->engine, 0, NULL), QT_OK);
        paused_at = qt_now();
        r->stopped = 1;
    } else if (r->stopped == 1 && qt_now() > paused_at + 6000 * MS) { /* beyond the schedule and the drain time */
        CHECK_INT(now.counts.executed, 1);
        CHECK_INT(now.counts.sessions_opened, 1);
        CHECK_INT(qt_engine_set_speed(r->engine, 1, NULL), QT_OK);
        r->stopped = 2;
    }
}

/* During a pause no event is sent, no session is opened and none is cut off. The pause makes no event late. */
static void no_event_is_sent_during_a_pause(void)
{
    struct replay r;

    replay_init(&r);
    r.each_slice = stand_for_a_while;
    r.options.drain_ns = 2500 * MS;
    replay_session(&r, 1, -5, 2, NULL);
    replay_session(&r, 2, 2500 * MS, 1, NULL);
    event(&r, 1, 0, 0, "a");
    event(&r, 2, 2000 * MS, 0, "b");
    replay_event(&r, 2, 1, 2600 * MS, "c");
    replay_run(&r);
    CHECK_INT(r.stopped, 2);
    CHECK_INT(r.stats.counts.executed, 3);
    CHECK_INT(r.stats.counts.drain_timeout, 0);
    CHECK(replay_find(&r, 1, 2)->due_ns >= 7500 * MS);
    CHECK(replay_find(&r, 1, 2)->sent_ns >= replay_find(&r, 1, 2)->due_ns);
    CHECK(replay_find(&r, 2, 1)->due_ns >= replay_find(&r, 1, 2)->due_ns + 600 * MS - 1000);
    replay_free(&r);
}

static const int PACES[] = {QT_PACE_SCHEDULE, QT_PACE_THINK, QT_PACE_NONE};

/* The run starts at its set time. Nothing is sent before that time, at any pace. The drain time, which is shorter than
 * the time until the start, begins later. */
static void run_starts_at_its_set_time(void)
{
    for (size_t i = 0; i < sizeof PACES / sizeof PACES[0]; i++) {
        struct replay r;
        int64_t at = qt_now() + 300 * MS;

        replay_init(&r);
        r.options.pace = PACES[i];
        r.options.zero_at_ns = at;
        r.options.drain_ns = 100 * MS;
        replay_session(&r, 1, -5, 1, NULL);
        event(&r, 1, 0, 0, "a");
        replay_run(&r);
        CHECK_INT(r.stats.counts.executed, 1);
        CHECK(r.server.entry[0].at_ns >= at);
        CHECK(replay_find(&r, 1, 1)->sent_ns >= 0);
        replay_free(&r);
    }
}

static int64_t told_at, zero_told;

static void tell_when_ready(struct replay *r)
{
    struct qt_engine_stats stats;

    qt_engine_peek(r->engine, &stats);
    CHECK(stats.state != QT_ENGINE_RUNNING || zero_told != 0);
    if (stats.state != QT_ENGINE_READY || zero_told != 0)
        return;
    if (r->stopped++ < 3) /* nothing is sent before qt_engine_go is called */
        return;
    CHECK_INT(qt_engine_go(r->engine, qt_now() - MS, NULL), QT_ESTATE);
    CHECK_INT(qt_engine_go(r->engine, qt_now() + 1000, NULL), QT_ESTATE);
    told_at = qt_now();
    zero_told = told_at + 2000 * MS;
    CHECK_INT(qt_engine_go(r->engine, zero_told, NULL), QT_OK);
    CHECK_INT(qt_engine_go(r->engine, zero_told + 1, NULL), QT_ESTATE);
}

/* A holding engine starts at the time passed to qt_engine_go, at any pace. A time in the past is refused. */
static void holding_engine_starts_at_the_given_time(void)
{
    struct replay r;

    for (size_t i = 0; i < sizeof PACES / sizeof PACES[0]; i++) {
        told_at = zero_told = 0;
        replay_init(&r);
        r.options.pace = PACES[i];
        r.options.holds = 1;
        r.each_slice = tell_when_ready;
        replay_session(&r, 1, -5, 1, NULL);
        event(&r, 1, 0, 0, "a");
        replay_run(&r);
        CHECK(told_at > r.begun_ns && zero_told > told_at);
        CHECK(r.server.entry[0].at_ns >= zero_told);
        CHECK(replay_find(&r, 1, 1)->sent_ns >= 0);
        replay_free(&r);
    }

    replay_init(&r);
    replay_session(&r, 1, -5, 1, NULL);
    event(&r, 1, 0, 0, "a");
    replay_run(&r);
    CHECK_INT(qt_engine_go(r.engine, qt_now() + 1000 * MS, NULL), QT_ESTATE);
    replay_free(&r);
}

static void stop_when_ready(struct replay *r)
{
    struct qt_engine_stats stats;

    qt_engine_peek(r->engine, &stats);
    if (stats.state == QT_ENGINE_READY)
        qt_engine_stop(r->engine, 1);
}

/* A stop ends a holding engine, which has then sent nothing. */
static void stop_ends_a_holding_engine(void)
{
    struct replay r;

    replay_init(&r);
    r.options.holds = 1;
    r.each_slice = stop_when_ready;
    replay_session(&r, 1, -5, 1, NULL);
    event(&r, 1, 0, 0, "a");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 1);
    replay_free(&r);
}

/* The engine sets the clock and insert ids before the statements that need them. An unchanged clock is set only once.
 * The engine sends nothing before other statements, because such a statement may query the result of the previous
 * statement. */
static void clock_and_insert_ids_are_set_before_statements(void)
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
    CHECK_INT(r.stats.counts.injected, 2);
    CHECK_INT(r.stats.counts.overrides_failed, 0);
    replay_free(&r);
}

/* Each INSERT of a multi-statement text gets its own insert id. Insert ids for a wrong offset in the text are
 * ignored. */
static void each_insert_of_a_text_gets_its_insert_id(void)
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
        CHECK_TEXT(r.server.entry[i + 1].bytes, CASES[i][2]); /* after the command that enables multiple statements */
    replay_free(&r);
}

/* The engine enables multiple statements for an unknown client unless the text failed on the tape. It enables them
 * once, and again after a reset. */
static void multi_statement_option_is_set_once(void)
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
    CHECK_INT(r.stats.counts.several_statements, 3);
    CHECK_INT(r.stats.counts.injected, 2);
    replay_free(&r);
}

/* Initializes an engine without a run. */
static void bare(struct qt_engine *e, int64_t began_ago_ns)
{
    memset(e, 0, sizeof *e);
    pthread_mutex_init(&e->schedule.speed.lock, NULL);
    e->schedule.speed.factor = 1;
    e->options.pace = QT_PACE_SCHEDULE;
    e->schedule.zero_ns = began_ago_ns == 0 ? 0 : qt_now() - began_ago_ns;
}

/* Each speed change continues from the plan time already reached. A change before the start only sets the first
 * speed. */
static void speed_change_continues_from_the_reached_plan_time(void)
{
    static const double FACTORS[] = {4, 0.25, 1e6, 1e-6, 8, 1};
    static struct qt_engine e;
    struct qt_speed *t = &e.schedule.speed;
    int64_t zero;

    bare(&e, 0);
    CHECK_INT(qt_engine_set_speed(&e, 16, NULL), QT_OK);
    CHECK_INT(t->plan_ns, 0);
    CHECK_INT(t->real_ns, 0);

    bare(&e, 10000 * MS);
    zero = e.schedule.zero_ns;
    CHECK_INT(qt_plan_to_clock(&e, 123), zero + 123);
    for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS; i++) {
        int64_t plan = t->plan_ns, real = t->real_ns, before = qt_now() - zero;
        double factor = t->factor;
        CHECK_INT(qt_engine_set_speed(&e, FACTORS[i], NULL), QT_OK);
        CHECK(t->real_ns >= before && t->real_ns <= qt_now() - zero);
        CHECK_INT(t->plan_ns, plan + (int64_t)((double)(t->real_ns - real) * factor));
        CHECK_INT(qt_plan_to_clock(&e, t->plan_ns), zero + t->real_ns);
        CHECK_INT(qt_plan_to_clock(&e, t->plan_ns + 4096), zero + t->real_ns + (int64_t)(4096 / FACTORS[i]));
        CHECK_INT(e.schedule.speed.changes, i + 1);
    }
    t->real_ns += 3600 * 1000 * MS; /* another thread changes the speed in between: time must not go back */
    zero = t->plan_ns;
    CHECK_INT(qt_engine_set_speed(&e, 2, NULL), QT_OK);
    CHECK_INT(t->plan_ns, zero);
}

/* During a pause the plan time does not advance. Later events are delayed by the length of the pause. */
static void pause_delays_all_later_events(void)
{
    static struct qt_engine e;
    struct qt_session s = {.engine = &e, .tape_end_ns = 1000};
    struct qt_planned_event ev = {.due_ns = 1400};
    struct qt_speed *t = &e.schedule.speed;
    int64_t zero, plan, real, ahead;

    bare(&e, 10000 * MS);
    zero = e.schedule.zero_ns;
    CHECK_INT(qt_engine_set_speed(&e, 2, NULL), QT_OK);
    CHECK_INT(qt_engine_set_speed(&e, 0, NULL), QT_OK);
    plan = t->plan_ns;
    real = t->real_ns;
    CHECK_INT(qt_is_paused(&e), 1);
    CHECK_INT(qt_plan_to_clock(&e, plan), zero + real);
    CHECK_INT(qt_plan_to_clock(&e, plan - 4096), zero + real - 2048); /* past events are unchanged */
    CHECK_INT(qt_plan_to_clock(&e, plan + 1), QT_PAUSED);
    CHECK_INT(qt_engine_set_speed(&e, 0, NULL), QT_OK); /* a second pause has no effect */
    CHECK_INT(t->plan_ns, plan);
    CHECK_INT(t->stood_ns, t->real_ns - real);
    e.schedule.zero_ns -= 5000 * MS; /* a pause of five seconds */
    zero = e.schedule.zero_ns;
    e.options.pace = QT_PACE_THINK;
    s.answered_ns = qt_now();
    s.answered_stood_ns = qt_stood_ns(&e); /* the reply arrived during the pause */
    CHECK(s.answered_stood_ns >= 5000 * MS);
    CHECK_INT(qt_engine_set_speed(&e, 1, NULL), QT_OK);
    CHECK_INT(qt_is_paused(&e), 0);
    CHECK_INT(t->plan_ns, plan);
    CHECK_INT(t->stood_ns, t->real_ns - real);
    ahead = qt_plan_to_clock(&e, plan + 4096);
    CHECK_INT(ahead, zero + t->real_ns + 4096);
    CHECK(ahead >= zero + real + 5000 * MS + 4096);
    CHECK_INT(qt_compute_due(&s, &ev), s.answered_ns + 400 + t->stood_ns - s.answered_stood_ns);
    s.answered_stood_ns = 0; /* the reply arrived before the pause */
    CHECK_INT(qt_compute_due(&s, &ev), s.answered_ns + 400 + t->stood_ns);
}

static void speed_factors_are_limited(void)
{
    static const double GOOD[] = {1e-6, 1e6, 0, 1, 0.5},
                        BAD[] = {0.99e-6, 1.01e6, -1e-9, -1, -1e9, 1e300 * 1e300, 0.0 / 0.0};
    static struct qt_engine e;

    bare(&e, 1000 * MS);
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
        CHECK_INT(qt_engine_set_speed(&e, GOOD[i], NULL), QT_OK);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        CHECK_INT(qt_engine_set_speed(&e, BAD[i], NULL), QT_EINVALID);
    CHECK_INT(e.schedule.speed.changes, sizeof GOOD / sizeof *GOOD);
}

/* A speed change wakes only sessions that sleep until an event is due, and only sessions of the engine. */
static void speed_change_wakes_only_sessions_that_wait_for_a_due_time(void)
{
    static struct qt_engine e;
    static struct qt_session session[6];
    struct qt_session *piece[] = {session};

    bare(&e, 1000 * MS);
    e.table.piece = piece;
    e.table.n_sessions = 5;
    for (uint32_t i = 0; i < 6; i++)
        session[i].sleep = i < 5 ? i : QT_WAITS_FOR_TIME;
    CHECK_INT(qt_engine_set_speed(&e, 2, NULL), QT_OK);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_INT(session[i].sleep, i == QT_WAITS_FOR_TIME ? QT_AWAKE : i);
    CHECK_INT(session[5].sleep, QT_WAITS_FOR_TIME);
}

/* Checks the due time of an event at each pace, before and after a speed change. */
static void due_time_depends_on_the_pace(void)
{
    static struct qt_engine e;
    struct qt_session s = {.engine = &e, .tape_end_ns = 1000, .answered_ns = 5000};
    struct qt_planned_event ev = {.due_ns = 1400};

    for (int changed = 0; changed < 2; changed++) {
        bare(&e, 1000 * MS);
        if (changed)
            CHECK_INT(qt_engine_set_speed(&e, 4, NULL), QT_OK);
        CHECK_INT(qt_compute_due(&s, &ev), qt_plan_to_clock(&e, 1400));
        e.options.pace = QT_PACE_THINK;
        CHECK_INT(qt_compute_due(&s, &ev), 5000 + (changed ? 100 : 400));
        ev.due_ns = 999; /* overlapped on the tape */
        CHECK_INT(qt_compute_due(&s, &ev), 5000);
        s.tape_end_ns = QT_NONE; /* first event of the session */
        CHECK_INT(qt_compute_due(&s, &ev), qt_plan_to_clock(&e, 999));
        e.options.pace = QT_PACE_NONE;
        CHECK_INT(qt_compute_due(&s, &ev), QT_NONE);
        s.tape_end_ns = 1000;
        CHECK_INT(qt_compute_due(&s, &ev), QT_NONE);
        ev.due_ns = 1400;
    }
    CHECK(qt_sleep_until_due(&s, &ev) <= qt_now());
    CHECK_INT(s.sleep, QT_AWAKE);
}

int main(void)
{
    RUN(speed_change_continues_from_the_reached_plan_time);
    RUN(pause_delays_all_later_events);
    RUN(speed_factors_are_limited);
    RUN(speed_change_wakes_only_sessions_that_wait_for_a_due_time);
    RUN(due_time_depends_on_the_pace);
    RUN(think_times_are_kept);
    RUN(each_insert_of_a_text_gets_its_insert_id);
    RUN(multi_statement_option_is_set_once);
    RUN(drain_time_does_not_limit_think_times);
    RUN(speed_change_wakes_sleeping_sessions);
    RUN(no_event_is_sent_during_a_pause);
    RUN(run_starts_at_its_set_time);
    RUN(holding_engine_starts_at_the_given_time);
    RUN(stop_ends_a_holding_engine);
    RUN(clock_and_insert_ids_are_set_before_statements);
    return 0;
}

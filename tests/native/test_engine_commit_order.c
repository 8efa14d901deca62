/* SPDX-License-Identifier: Apache-2.0 */
/* Statements wait only for commits that precede them on the tape. No wait exceeds the configured bound. */
#include "check.h"
#include "replay_run.h"

#define LONG_BOUND (3200 * MS) /* long enough for a busy machine, where sessions need time to get stuck */

static void event_at(struct replay *r, int64_t due_ns, int64_t session, int64_t seq, const char *sql, const char *waits)
{
    replay_put(r, &(struct planned){.session = session,
                                    .seq = seq,
                                    .due_ns = due_ns,
                                    .command = 1,
                                    .sql = sql,
                                    .len = strlen(sql),
                                    .waits = waits});
}

static void event(struct replay *r, int64_t session, int64_t seq, const char *sql, const char *waits)
{
    event_at(r, 0, session, seq, sql, waits);
}

static void begin(struct replay *r, int32_t sessions, int64_t events)
{
    replay_init(r);
    r->options.pace = QT_PACE_NONE;
    r->options.order_tables = 3;
    for (int i = 1; i <= sessions; i++)
        replay_session(r, i, 0, events, NULL);
}

/* Returns the number of sessions that wait for others. `*first` is one of them. */
static int waiting(struct replay *r, int64_t *first)
{
    struct qt_doing doing[8];
    int32_t n = qt_engine_doing(r->engine, doing, 8), found = 0;
    for (int32_t i = 0; i < n; i++)
        if (doing[i].table >= 0) {
            *first = doing[i].session;
            found++;
        }
    return found;
}

/* Releases the second commit when both sessions wait. Releases the first commit when one of the sessions has
 * continued. */
static void let_go_in_turn(struct replay *r)
{
    int64_t first;
    if (fake_count(&r->server, 3, "other") > 0)
        r->server.let_go = 2;
    else if (waiting(r, &first) == 2)
        r->server.let_go = 1;
}

/* The second commit of table 1 ends before the first commit. An event that needs both commits waits for the later
 * commit. Table 2 is independent. */
static void event_waits_for_the_commits_that_it_needs(void)
{
    struct replay r;

    begin(&r, 4, 1);
    r.options.order_bound_ns = 3600 * 1000 * MS;
    r.each_slice = let_go_in_turn;
    event(&r, 1, 1, "HOLD 2", ";1:1");
    event(&r, 2, 1, "HOLD 1", ";1:2 2:1");
    event(&r, 3, 1, "both", "1:2");
    event(&r, 4, 1, "other", "2:1;2:2");
    replay_run(&r);
    CHECK(replay_find(&r, 3, 1)->sent_ns >= replay_find(&r, 1, 1)->done_ns);
    CHECK(replay_find(&r, 3, 1)->free_ns >= replay_find(&r, 1, 1)->done_ns);
    CHECK(replay_find(&r, 4, 1)->sent_ns < replay_find(&r, 1, 1)->done_ns);
    CHECK(replay_find(&r, 1, 1)->order_ns == NO_VALUE);
    CHECK_INT(r.stats.counts.order_waits, 2);
    CHECK_INT(r.stats.counts.order_wait_ns, replay_find(&r, 3, 1)->order_ns + replay_find(&r, 4, 1)->order_ns);
    CHECK_INT(r.stats.counts.order_broken, 0);
    replay_free(&r);
}

/* DDL first commits the transaction of its session. Another session may therefore wait for that COMMIT while the DDL
 * waits for the other session. */
static void ddl_sends_its_commit_first(void)
{
    struct replay r;

    begin(&r, 2, 3);
    r.options.order_bound_ns = 3600 * 1000 * MS;
    event(&r, 1, 1, "BEGIN", NULL);
    event(&r, 1, 2, "ALTER", ";1:1|2:1;1:2");
    event(&r, 1, 3, "ALTER no transaction", "1:2;1:3|1:3;1:4");
    event(&r, 2, 1, "SLEEP 200", "1:1;2:1");
    event(&r, 2, 2, "a", "1:4");
    event(&r, 2, 3, "b", NULL);
    replay_run(&r);
    CHECK_INT(fake_count(&r.server, 3, "COMMIT"), 1);
    CHECK(replay_find(&r, 1, 2)->sent_ns >= replay_find(&r, 2, 1)->done_ns);
    CHECK_INT(r.stats.counts.order_broken, 0);
    replay_free(&r);
}

/* The COMMIT before a DDL may fail or lose the connection. The DDL is then not sent and gets the error of the COMMIT.
 * No session waits for the DDL. */
static void ddl_gets_the_error_of_its_failed_commit(void)
{
    for (int lost = 0; lost < 2; lost++) {
        struct replay r;

        begin(&r, 2, 2);
        event(&r, 1, 1, lost ? "TRAP" : "SPOIL", NULL);
        event(&r, 1, 2, "ALTER", ";1:1|1:1;1:2");
        event(&r, 2, 1, "a", "1:1");
        event(&r, 2, 2, "b", "1:2");
        replay_run(&r);
        CHECK_INT(r.stats.counts.executed, lost ? 3 : 4);
        CHECK_INT(replay_find(&r, 1, 2)->error, lost ? NO_VALUE : 1064);
        CHECK_INT(fake_count(&r.server, 3, "ALTER") + r.stats.counts.order_broken, 0);
        replay_free(&r);
    }
}

/* Commits that are never sent count as done, because their session is lost or could not be opened. */
static void commits_that_are_never_sent_count_as_done(void)
{
    struct replay r;

    begin(&r, 2, 2);
    event(&r, 1, 1, "DROP", ";1:1");
    event(&r, 1, 2, "never", ";1:2");
    event(&r, 2, 1, "after", "1:2");
    event(&r, 2, 2, "after", "1:2;0:1");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "executed", NULL), 3);
    CHECK_INT(replay_count(&r, "not_sent", "connection_lost"), 1);
    CHECK_INT(r.stats.counts.order_broken, 0);
    replay_free(&r);
}

static void let_go_behind_a(struct replay *r) { r->server.let_go = fake_count(&r->server, 3, "a"); }

/* Session A holds a transaction and waits for B's commit. B waits in the server for A's lock. After the bound, A
 * continues. */
static void deadlock_of_waits_is_broken_after_the_bound(void)
{
    struct replay r;

    begin(&r, 2, 2);
    r.options.order_bound_ns = 100 * MS;
    r.each_slice = let_go_behind_a;
    event(&r, 1, 1, "BEGIN", NULL);
    event(&r, 1, 2, "a", "1:1");
    event(&r, 2, 1, "HOLD 1", ";1:1");
    event(&r, 2, 2, "b", NULL);
    replay_run(&r);
    CHECK_INT(r.stats.counts.order_broken, 1);
    CHECK(replay_find(&r, 1, 2)->sent_ns < replay_find(&r, 2, 1)->done_ns);
    CHECK(replay_find(&r, 1, 2)->sent_ns >= 100 * MS);
    replay_free(&r);
}

static void let_go_at_the_end(struct replay *r) { r->server.let_go = fake_count(&r->server, 3, "in turn again"); }

/* Two waits are stuck. A wait for a statement that adds rows (place 2) is given up before an older wait for a commit
 * (place 3). The wait that is given up is not counted in order_broken. The next waits of its transaction are only for
 * commits and are released first. */
static void wait_for_added_rows_is_released_before_a_wait_for_a_commit(void)
{
    struct replay r;

    begin(&r, 0, 0);
    r.options.order_tables = 6;
    r.options.order_bound_ns = LONG_BOUND;
    r.options.drain_ns = 60 * LONG_BOUND;
    replay_session(&r, 1, 0, 2, NULL);
    replay_session(&r, 2, 0, 6, NULL);
    replay_session(&r, 3, 0, 1, NULL);
    event_at(&r, 0, 1, 1, "BEGIN", NULL);
    event_at(&r, 10 * MS, 1, 2, "earlier", "3:1");
    event_at(&r, 0, 2, 1, "BEGIN", NULL);
    event_at(&r, 20 * MS, 2, 2, "guess", "2:1");
    event_at(&r, 21 * MS, 2, 3, "guess again", "2:1");
    event_at(&r, 22 * MS, 2, 4, "COMMIT", "2:1 3:1");
    event_at(&r, 23 * MS, 2, 5, "BEGIN", NULL);
    event_at(&r, 24 * MS, 2, 6, "in turn again", "2:1");
    event_at(&r, 5 * MS, 3, 1, "HOLD 1", ";2:1 3:1");
    r.each_slice = let_go_at_the_end;
    replay_run(&r);
    CHECK(replay_find(&r, 2, 2)->sent_ns >= LONG_BOUND);
    CHECK_INT(replay_find(&r, 2, 3)->order_ns, NO_VALUE);
    CHECK(replay_find(&r, 2, 4)->sent_ns - replay_find(&r, 2, 3)->done_ns >= LONG_BOUND);
    CHECK(replay_find(&r, 2, 4)->sent_ns < replay_find(&r, 1, 2)->sent_ns);
    CHECK(replay_find(&r, 2, 6)->order_ns != NO_VALUE);
    CHECK_INT(r.stats.counts.order_broken, 2);
    replay_free(&r);
}

/* Lets the session with the earlier event begin its wait later than the other session. */
static void let_the_earlier_wait(struct replay *r)
{
    int64_t first;
    if (fake_count(&r->server, 3, "in turn again") > 0)
        r->server.let_go = 2;
    else if (r->server.let_go == 0)
        r->server.let_go = waiting(r, &first) == 1 && first == 1;
}

/* Two waits are stuck. The wait of the earlier event on the tape is released first, even if it has lasted less long.
 * The released transaction does not wait again. */
static void earliest_stuck_event_is_released_first(void)
{
    struct replay r;

    begin(&r, 0, 0);
    replay_session(&r, 1, 0, 2, NULL);
    replay_session(&r, 2, 0, 8, NULL);
    replay_session(&r, 3, 0, 1, NULL);
    r.options.order_bound_ns = LONG_BOUND;
    r.options.drain_ns = 60 * LONG_BOUND;
    event_at(&r, 0, 1, 1, "BEGIN", NULL);
    event_at(&r, 30 * MS, 1, 2, "later", "1:1");
    event_at(&r, 0, 2, 1, "BEGIN", NULL);
    event_at(&r, 10 * MS, 2, 2, "HOLD 1", NULL);
    event_at(&r, 20 * MS, 2, 3, "earlier", "1:1");
    event_at(&r, 21 * MS, 2, 4, "the rest", "1:1 2:1;2:1");
    event_at(&r, 40 * MS, 2, 5, "COMMIT", NULL);
    event_at(&r, 41 * MS, 2, 6, "BEGIN", NULL);
    event_at(&r, 42 * MS, 2, 7, "in turn again", "1:1");
    event_at(&r, 43 * MS, 2, 8, "COMMIT", NULL);
    event_at(&r, 5 * MS, 3, 1, "HOLD 2", ";1:1");
    r.each_slice = let_the_earlier_wait;
    replay_run(&r);
    CHECK(replay_find(&r, 2, 3)->sent_ns >= LONG_BOUND);
    CHECK(replay_find(&r, 2, 3)->sent_ns < replay_find(&r, 1, 2)->sent_ns);
    CHECK(replay_find(&r, 2, 3)->sent_ns < replay_find(&r, 3, 1)->done_ns);
    CHECK_INT(replay_find(&r, 2, 4)->order_ns, NO_VALUE);
    CHECK(replay_find(&r, 2, 4)->sent_ns < replay_find(&r, 3, 1)->done_ns);
    CHECK(replay_find(&r, 2, 7)->order_ns != NO_VALUE);
    CHECK_INT(r.stats.counts.order_broken, 4);
    replay_free(&r);
}

/* Adds a transaction that waits for a commit that never comes. Returns the sequence number after its last event. */
static int64_t stuck_transaction(struct replay *r, int64_t session, int64_t seq, const char *first_waits)
{
    event(r, session, seq, "BEGIN", first_waits);
    event(r, session, seq + 1, "a", "1:1");
    event(r, session, seq + 2, "COMMIT", NULL);
    return seq + 3;
}

static void let_go_when_broken(struct replay *r) { r->server.let_go = (int)r->stats.counts.order_broken; }

/* If all waits of a run end by timeout, each bound counts as a stall. */
static void consecutive_broken_waits_count_as_stalls(void)
{
    enum { TURNS = 4 };
    struct replay r;
    int64_t seq = 1;

    begin(&r, 1, (int64_t)TURNS * 3);
    replay_session(&r, 2, 0, 1, NULL);
    r.options.order_bound_ns = 50 * MS;
    for (int i = 0; i < TURNS; i++)
        seq = stuck_transaction(&r, 1, seq, NULL);
    event(&r, 2, 1, "HOLD 4", ";1:1");
    r.each_slice = let_go_when_broken;
    replay_run(&r);
    CHECK_INT(r.stats.counts.order_stalls, r.stats.counts.order_broken);
    CHECK_INT(r.stats.counts.order_broken, TURNS);
    replay_free(&r);
}

/* Many other waits end normally between two waits that time out. Sessions 3 and 4 wait for each other's commits. */
static void normal_waits_between_broken_waits_prevent_a_stall(void)
{
    enum { TURNS = 20 };
    static char waits[2 * TURNS + 1][40];
    struct replay r;
    int64_t seq;

    begin(&r, 1, 6);
    replay_session(&r, 2, 0, 1, NULL);
    replay_session(&r, 3, 0, TURNS, NULL);
    replay_session(&r, 4, 0, TURNS, NULL);
    r.options.order_bound_ns = 1000 * MS;
    r.each_slice = let_go_when_broken;
    snprintf(waits[0], sizeof waits[0], "2:%d", TURNS);
    seq = stuck_transaction(&r, 1, 1, NULL);
    stuck_transaction(&r, 1, seq, waits[0]);
    event(&r, 2, 1, "HOLD 2", ";1:1");
    for (int i = 1; i <= TURNS; i++) {
        char *of_3 = waits[i], *of_4 = waits[TURNS + i];
        snprintf(of_3, sizeof waits[0], "0:%d;2:%d", i - 1, i);
        snprintf(of_4, sizeof waits[0], "2:%d;0:%d", i, i);
        event(&r, 3, i, i == 1 ? "HOLD 1" : "SLEEP 5", of_3);
        event(&r, 4, i, "SLEEP 5", of_4);
    }
    replay_run(&r);
    CHECK_INT(r.stats.counts.order_broken, 2);
    CHECK_INT(r.stats.counts.order_stalls, 1);
    replay_free(&r);
}

static int hangs(struct replay *r) { return fake_count(&r->server, 3, "HANG") == 1; }

/* Stops the run when session 2 waits for session 1, while session 1 waits for the server. */
static void stop_when_one_waits(struct replay *r)
{
    struct qt_doing doing[2];
    int32_t n = hangs(r) ? qt_engine_doing(r->engine, doing, 2) : 0;

    CHECK(n <= 2);
    CHECK_INT(qt_engine_doing(r->engine, NULL, 0) <= 2, 1);
    for (int32_t i = 0; i < n; i++) {
        CHECK(doing[i].session == 2 || doing[i].table < 0);
        if (doing[i].table < 0)
            continue;
        CHECK_INT(doing[i].seq, 1);
        CHECK_INT(doing[i].table, 1);
        CHECK_INT(doing[i].commit, 1);
        CHECK(doing[i].connection > 0);
        qt_engine_stop(r->engine, 2);
    }
}

static void waiting_session_is_reported(void)
{
    struct replay r;

    begin(&r, 2, 1);
    r.options.order_bound_ns = 3600 * 1000 * MS;
    r.each_slice = stop_when_one_waits;
    event(&r, 1, 1, "HANG", ";1:1");
    event(&r, 2, 1, "a", "1:1");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 1);
    replay_free(&r);
}

static void stop_soon(struct replay *r)
{
    if (hangs(r) && fake_now() - r->begun_ns > 100 * MS)
        qt_engine_stop(r->engine, 2);
}

/* A stopped run ends even if sessions wait for each other. */
static void stop_ends_all_waits(void)
{
    struct replay r;

    begin(&r, 2, 1);
    r.options.order_bound_ns = 3600 * 1000 * MS;
    r.each_slice = stop_soon;
    event(&r, 1, 1, "HANG", ";1:1");
    event(&r, 2, 1, "a", "1:1");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "not_sent", "stopped"), 1);
    replay_free(&r);
}

enum { MANY = 200, EACH = 20 };

/* Each event of 200 sessions is the next commit of one table. The commits arrive in exactly the order of the tape. */
static void commits_of_many_sessions_keep_the_tape_order(void)
{
    static char sql[MANY * EACH][16], waits[MANY * EACH][40];
    struct replay r;
    int at = 0;

    begin(&r, MANY, EACH);
    for (int k = 0; k < EACH; k++)
        for (int s = 0; s < MANY; s++) {
            int n = k * MANY + s;
            snprintf(sql[n], sizeof sql[n], "%d", n);
            snprintf(waits[n], sizeof waits[n], "0:%d;0:%d", n, n + 1);
            event(&r, s + 1, k + 1, sql[n], waits[n]);
        }
    replay_run(&r);
    CHECK_INT(r.stats.counts.executed, MANY * EACH);
    for (size_t i = 0; i < r.server.n; i++)
        if (r.server.entry[i].command == 3 && r.server.entry[i].bytes[0] != 'S') {
            CHECK_TEXT(r.server.entry[i].bytes, sql[at]);
            at++;
        }
    CHECK_INT(at, MANY * EACH);
    CHECK_INT(r.stats.counts.order_broken, 0);
    replay_free(&r);
}

int main(void)
{
    RUN(event_waits_for_the_commits_that_it_needs);
    RUN(ddl_sends_its_commit_first);
    RUN(ddl_gets_the_error_of_its_failed_commit);
    RUN(commits_that_are_never_sent_count_as_done);
    RUN(deadlock_of_waits_is_broken_after_the_bound);
    RUN(wait_for_added_rows_is_released_before_a_wait_for_a_commit);
    RUN(earliest_stuck_event_is_released_first);
    RUN(consecutive_broken_waits_count_as_stalls);
    RUN(normal_waits_between_broken_waits_prevent_a_stall);
    RUN(waiting_session_is_reported);
    RUN(stop_ends_all_waits);
    RUN(commits_of_many_sessions_keep_the_tape_order);
    return 0;
}

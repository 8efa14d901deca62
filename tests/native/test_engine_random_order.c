/* SPDX-License-Identifier: Apache-2.0 */
/* Random commit orders are kept: by one engine, and by two engines that replay parts of one plan. */
#include <stdatomic.h>

#include "check.h"
#include "replay_run.h"

enum { TABLES = 3, RANDOM = 30, STEPS = 40, ALL = RANDOM * STEPS };

static void event(struct replay *r, int64_t session, int64_t seq, const char *sql, const char *waits)
{
    replay_put(r, &(struct planned){
                      .session = session, .seq = seq, .command = 1, .sql = sql, .len = strlen(sql), .waits = waits});
}

static void begin(struct replay *r)
{
    replay_init(r);
    r->options.pace = QT_PACE_NONE;
    r->options.order_tables = 3;
    r->options.order_bound_ns = 600 * 1000 * MS;
}

/* An event of a random plan: at most one wait for each table and at most one commit. */
struct step {
    int64_t session, seq, needed[TABLES], number;
    int table;
    char sql[16], waits[80];
};

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Each event waits only for earlier events, so the plan cannot deadlock. Some statements are slow and some waits need
 * only older commits. Commits therefore finish out of order. */
static void make_random_plan(struct step *step, unsigned seed)
{
    int64_t seq[RANDOM] = {0}, commits[TABLES] = {0};

    for (int i = 0; i < ALL; i++) {
        struct step *s = &step[i];
        int at = 0, slow = next(&seed) % 4 == 0;
        do
            s->session = next(&seed) % RANDOM;
        while (seq[s->session] == STEPS);
        s->seq = ++seq[s->session];
        for (int t = 0; t < TABLES; t++) {
            int64_t lag = next(&seed) % 8;
            s->needed[t] = next(&seed) % 3 == 0 && commits[t] > lag ? commits[t] - lag : 0;
            if (s->needed[t] > 0)
                at += sprintf(s->waits + at, "%s%d:%lld", at > 0 ? " " : "", t, (long long)s->needed[t]);
        }
        s->table = next(&seed) % 4 > 0 ? (int)(next(&seed) % TABLES) : -1;
        if (s->table >= 0) {
            s->number = ++commits[s->table];
            sprintf(s->waits + at, ";%d:%lld", s->table, (long long)s->number);
        }
        snprintf(s->sql, sizeof s->sql, slow ? "SLEEP %u" : "SELECT %u", slow ? 1 + next(&seed) % 4 : 1);
    }
}

/* No event is sent before the commits that it waits for are done. No event waits forever, and each wait is counted
 * once. */
static void random_commit_orders_are_kept(void)
{
    static struct step step[ALL];
    static int64_t done[TABLES][ALL + 1];

    for (unsigned seed = 1; seed <= 3; seed++) {
        struct replay r;
        uint64_t waits = 0;
        int64_t waited_ns = 0;

        memset(step, 0, sizeof step);
        make_random_plan(step, seed);
        begin(&r);
        for (int i = 1; i <= RANDOM; i++)
            replay_session(&r, i, 0, STEPS, NULL);
        for (int i = 0; i < ALL; i++)
            event(&r, step[i].session + 1, step[i].seq, step[i].sql, step[i].waits[0] ? step[i].waits : NULL);
        replay_run(&r);
        CHECK_INT(r.stats.counts.executed, ALL);
        CHECK_INT(r.stats.counts.order_broken, 0);
        for (int i = 0; i < ALL; i++)
            if (step[i].table >= 0)
                done[step[i].table][step[i].number] = replay_find(&r, step[i].session + 1, step[i].seq)->done_ns;
        for (int i = 0; i < ALL; i++) {
            struct outcome *o = replay_find(&r, step[i].session + 1, step[i].seq);
            for (int t = 0; t < TABLES; t++)
                for (int64_t n = 1; n <= step[i].needed[t]; n++)
                    CHECK(o->sent_ns >= done[t][n]);
            waits += o->order_ns != NO_VALUE;
            waited_ns += o->order_ns != NO_VALUE ? o->order_ns : 0;
        }
        CHECK(waits > 0);
        CHECK_INT(r.stats.counts.order_waits, waits);
        CHECK_INT(r.stats.counts.order_wait_ns, waited_ns);
        replay_free(&r);
    }
}

enum { SIDES = 2, MOST = 64 };

/* Two engines that begin at the same time. */
static struct {
    struct replay replay[SIDES];
    pthread_barrier_t both_ready;
    pthread_t passing[SIDES];
    _Atomic int shared[SIDES], over[SIDES], let_go;
    int64_t zero_ns;
    int breaks;
} two;

/* Passes the finished commits of one engine to the other one, until the engine has ended. */
static void *pass_on(void *side)
{
    int own = (int)(intptr_t)side, n, over;
    int64_t pairs[2 * MOST];
    struct qt_error err = {0, ""};

    do {
        over = atomic_load(&two.over[own]);
        while ((n = qt_engine_finished(two.replay[own].engine, pairs, MOST, MS)) > 0)
            CHECK_INT(qt_engine_settle(two.replay[1 - own].engine, pairs, n, &err), QT_OK);
    } while (!over);
    return NULL;
}

/* Shares the tables as soon as the engine is ready, and begins at the same time as the other engine. Ends one stuck
 * wait of the first engine if the test asks for it. */
static void begin_together(struct replay *r)
{
    static const int32_t tables[] = {0, 1, 2};
    int own = r == &two.replay[1];
    struct qt_error err = {0, ""};
    int32_t cause;

    if (!atomic_load(&two.shared[own]) && r->stats.state == QT_ENGINE_READY) {
        atomic_store(&two.shared[own], 1);
        CHECK_INT(qt_engine_share(r->engine, tables, 3, &err), QT_OK);
        if (own == 0)
            two.zero_ns = fake_now() + 300 * MS;
        pthread_barrier_wait(&two.both_ready);
        CHECK_INT(qt_engine_go(r->engine, two.zero_ns, &err), QT_OK);
        CHECK_INT(pthread_create(&two.passing[own], NULL, pass_on, (void *)(intptr_t)own), 0);
    }
    if (two.breaks && own == 0 && qt_engine_stuck(r->engine, &cause) != INT64_MAX && !atomic_exchange(&two.let_go, 1))
        qt_engine_let_go(r->engine);
}

static void *run_side(void *side)
{
    int own = (int)(intptr_t)side;

    replay_run(&two.replay[own]);
    atomic_store(&two.over[own], 1);
    return NULL;
}

static void begin_two(int breaks)
{
    memset(&two, 0, sizeof two);
    two.breaks = breaks;
    pthread_barrier_init(&two.both_ready, NULL, SIDES);
    for (int i = 0; i < SIDES; i++) {
        begin(&two.replay[i]);
        two.replay[i].options.holds = 1;
        two.replay[i].each_slice = begin_together;
    }
}

static void run_two(void)
{
    pthread_t thread[SIDES];

    for (int i = 0; i < SIDES; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, run_side, (void *)(intptr_t)i), 0);
    for (int i = 0; i < SIDES; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < SIDES; i++)
        pthread_join(two.passing[i], NULL);
}

static void end_two(void)
{
    for (int i = 0; i < SIDES; i++)
        replay_free(&two.replay[i]);
    pthread_barrier_destroy(&two.both_ready);
}

/* Every second session is in the other engine. Both engines begin at the same time, so their times can be compared. */
static void two_engines_keep_the_order_of_one_plan(void)
{
    static struct step step[ALL];
    static int64_t done[TABLES][ALL + 1];

    for (unsigned seed = 11; seed <= 13; seed++) {
        uint64_t waits = 0;

        memset(step, 0, sizeof step);
        make_random_plan(step, seed);
        begin_two(0);
        for (int i = 0; i < RANDOM; i++)
            replay_session(&two.replay[i % SIDES], i + 1, 0, STEPS, NULL);
        for (int i = 0; i < ALL; i++)
            event(&two.replay[step[i].session % SIDES], step[i].session + 1, step[i].seq, step[i].sql,
                  step[i].waits[0] ? step[i].waits : NULL);
        run_two();
        for (int i = 0; i < SIDES; i++) {
            CHECK_INT(two.replay[i].stats.counts.order_broken, 0);
            CHECK_INT(two.replay[i].stats.counts.executed, two.replay[i].n);
            waits += two.replay[i].stats.counts.order_waits;
        }
        CHECK(waits > 0);
        for (int i = 0; i < ALL; i++)
            if (step[i].table >= 0)
                done[step[i].table][step[i].number] =
                    replay_find(&two.replay[step[i].session % SIDES], step[i].session + 1, step[i].seq)->done_ns;
        for (int i = 0; i < ALL; i++) {
            struct outcome *o = replay_find(&two.replay[step[i].session % SIDES], step[i].session + 1, step[i].seq);
            for (int t = 0; t < TABLES; t++)
                for (int64_t n = 1; n <= step[i].needed[t]; n++)
                    CHECK(o->sent_ns >= done[t][n]);
        }
        end_two();
    }
}

/* A session of each engine waits for the other one. Neither engine breaks its wait by itself. */
static void circle_of_two_engines_is_broken_once(void)
{
    begin_two(1);
    for (int i = 0; i < SIDES; i++) {
        two.replay[i].options.order_bound_ns = 200 * MS;
        replay_session(&two.replay[i], i + 1, 0, 2, NULL);
        event(&two.replay[i], i + 1, 1, "BEGIN", NULL);
        event(&two.replay[i], i + 1, 2, "x", i == 0 ? "1:1;2:1" : "2:1;1:1");
    }
    run_two();
    CHECK_INT(two.replay[0].stats.counts.order_broken, 1);
    CHECK_INT(two.replay[1].stats.counts.order_broken, 0);
    CHECK(replay_find(&two.replay[0], 1, 2)->order_ns >= 200 * MS);
    CHECK(replay_find(&two.replay[1], 2, 2)->sent_ns >= replay_find(&two.replay[0], 1, 2)->done_ns);
    end_two();
}

static void unknown_tables_and_a_late_share_are_refused(void)
{
    static const int32_t wrong[] = {3};
    static const int64_t no_table[] = {3, 1}, no_number[] = {1, 0}, good[] = {1, 1};
    struct replay r;
    struct qt_error err = {0, ""};
    int64_t pairs[2];

    begin(&r);
    r.options.holds = 1;
    r.engine = qt_engine_new(&r.options, &err);
    CHECK_INT(qt_engine_share(r.engine, wrong, 1, &err), QT_EINVALID);
    CHECK_TEXT(err.message, "table 3: expected 0 to 2");
    CHECK_INT(qt_engine_settle(r.engine, no_table, 1, &err), QT_EINVALID);
    CHECK_INT(qt_engine_settle(r.engine, no_number, 1, &err), QT_EINVALID);
    CHECK_INT(qt_engine_settle(r.engine, good, 1, &err), QT_OK);
    CHECK_INT(qt_engine_finished(r.engine, pairs, 1, 0), 0);
    replay_free(&r);
}

int main(void)
{
    RUN(random_commit_orders_are_kept);
    RUN(two_engines_keep_the_order_of_one_plan);
    RUN(circle_of_two_engines_is_broken_once);
    RUN(unknown_tables_and_a_late_share_are_refused);
    return 0;
}

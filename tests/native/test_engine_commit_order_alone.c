/* SPDX-License-Identifier: Apache-2.0 */
/* Commit order without a run: settled commits compared with a simple search, malformed lists, the end of a wait, and
 * the choice of the wait to release. */
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "engine/commit_order.h"
#include "engine/engine_state.h"

#define MS 1000000LL

enum { PLACES = 10, SESSIONS = 8, LAST = 40 };

struct bare {
    struct qt_engine e;
    struct qt_session session[SESSIONS + 1]; /* one more than the engine knows */
    struct qt_session *piece[1];
};

static struct bare *begin(int64_t bound_ns)
{
    struct bare *b = calloc(1, sizeof *b);
    CHECK(b != NULL);
    b->piece[0] = b->session;
    b->e.table.piece = b->piece;
    b->e.table.n_sessions = SESSIONS;
    b->e.options.order_bound_ns = bound_ns;
    b->e.waits.order = qt_order_new(PLACES);
    for (int i = 0; i <= SESSIONS; i++) {
        b->session[i].engine = &b->e;
        b->session[i].stuck_due_ns = QT_NOT_STUCK;
    }
    return b;
}

static void end(struct bare *b)
{
    qt_order_free(b->e.waits.order);
    free(b);
}

static void settle(struct bare *b, const char *waits)
{
    struct qt_planned_event ev = {.waits = waits};
    qt_settle_commits(&b->e, &ev);
}

/* Returns whether an event with this list would wait. An ending run releases the event at once but counts the wait. */
static int would_wait(struct bare *b, const char *waits)
{
    struct qt_planned_event ev = {.waits = waits};
    int64_t before = b->e.measured.counts[QT_COUNT_ORDER_WAITS];
    b->e.ending = 1;
    qt_await_turn(&b->session[0], &ev, ev.waits);
    b->e.ending = 0;
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 0);
    return (int)(b->e.measured.counts[QT_COUNT_ORDER_WAITS] - before);
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Commits arrive in any order, some twice. The settled commits of each place are the unbroken sequence from 1. */
static void settled_commits_are_an_unbroken_sequence(void)
{
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct bare *b = begin(3600 * 1000 * MS);
        char came[PLACES][LAST + 2] = {{0}};
        unsigned state = seed, range = seed % 2 ? LAST : 1;
        for (int i = 0; i < 3 * LAST; i++) {
            int place = next(&state) % 2 ? PLACES - 1 : 0, number = 1 + (int)(next(&state) % range);
            char text[64];
            range = range < LAST && i % 3 == 0 ? range + 1 : range;
            came[place][number] = 1;
            snprintf(text, sizeof text, "3:1;%d:%d", place, number);
            settle(b, text);
            for (int at = 0; at < PLACES; at += PLACES - 1) {
                int whole = 0;
                while (came[at][whole + 1])
                    whole++;
                snprintf(text, sizeof text, "%d:%d;", at, whole);
                CHECK_INT(would_wait(b, text), 0);
                snprintf(text, sizeof text, "%d:%d", at, whole + 1);
                CHECK_INT(would_wait(b, text), 1);
            }
            CHECK_INT(would_wait(b, "3:1"), 1);
        }
        end(b);
    }
}

/* Several pairs make one wait. A list ends at `;` or at text that is not a pair. Unknown places are ignored. */
static void list_of_waits_ends_at_invalid_text(void)
{
    static const struct {
        const char *waits;
        int would;
    } CASES[] = {
        {"0:1 9:1", 1},   {"9:1 0:1", 1}, {"1:1 1:2", 0}, {"1:2 9:1", 1},  {"1:2;9:1", 0}, {";9:1", 0},
        {"", 0},          {"x:1", 0},     {":1 9:1", 0},  {"+9:1", 0},     {"-9:1", 0},    {"1 9:1", 0},
        {"9 1:9 9:1", 0}, {"10:1", 0},    {"11:1", 0},    {"10:1 9:1", 1}, {"  9:1", 1},   {"9:0", 0},
    };
    struct bare *b = begin(3600 * 1000 * MS);
    settle(b, ";1:1 1:2");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        CHECK_INT(would_wait(b, CASES[i].waits), CASES[i].would);
    settle(b, NULL);
    settle(b, "2:1");
    settle(b, "2:1;");
    settle(b, "x;+2:1");
    settle(b, ";2 1:1");
    settle(b, ";11:1");
    CHECK_INT(would_wait(b, "2:1"), 1);
    settle(b, ";2:0");
    settle(b, "2:1;11:1 2:1");
    CHECK_INT(would_wait(b, "2:1"), 0);
    CHECK_INT(would_wait(b, "2:2"), 1);
    end(b);
}

/* Without a commit order, nothing waits, regardless of the plan. */
static void nothing_waits_without_a_commit_order(void)
{
    struct bare *b = begin(3600 * 1000 * MS);
    struct qt_planned_event ev = {.waits = "0:1;0:1"};
    qt_order_free(b->e.waits.order);
    b->e.waits.order = NULL;
    qt_await_turn(&b->session[0], &ev, ev.waits);
    qt_settle_commits(&b->e, &ev);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_WAITS], 0);
    CHECK_INT(b->session[0].order_ns, 0);
    end(b);
}

struct waiter {
    struct qt_session *s;
    const char *waits;
    int64_t due_ns;
    pthread_t thread;
    struct rusage used;
    _Atomic int over;
};

static void *await(void *arg)
{
    struct waiter *w = arg;
    struct qt_planned_event ev = {.due_ns = w->due_ns, .waits = w->waits};
    struct rusage before;
    getrusage(RUSAGE_THREAD, &before);
    qt_await_turn(w->s, &ev, ev.waits);
    getrusage(RUSAGE_THREAD, &w->used);
    w->used.ru_nvcsw -= before.ru_nvcsw;
    w->over = 1;
    return NULL;
}

static void start(struct bare *b, struct waiter *w, int place, int64_t due_ns, const char *waits)
{
    *w = (struct waiter){.s = &b->session[place], .due_ns = due_ns, .waits = waits};
    CHECK_INT(pthread_create(&w->thread, NULL, await, w), 0);
}

static void until_asleep(struct waiter *w)
{
    while (w->s->sleep != QT_WAITS_FOR_ORDER)
        usleep(200);
}

static void join(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    CHECK_INT(w->s->stuck_due_ns, QT_NOT_STUCK);
    CHECK_INT(w->s->sleep, QT_AWAKE);
}

/* A released session leaves the list of waiting sessions. It ignores the rest of its list and the waits of its
 * transaction. The other sessions stay asleep. Each sleeping session is woken only by the commit that it waits for. */
static void released_session_ignores_its_remaining_waits(void)
{
    static const struct {
        const char *waits;
        int number, goes; /* number at place 4; `goes`: released early */
    } PLAN[] = {{"4:1 5:9", 1, 1}, {"4:6", 6, 0}, {"4:5", 5, 0}, {"4:4 5:9", 4, 1}, {"4:3", 3, 0}, {"4:2 5:9", 2, 1}};
    enum { N = sizeof PLAN / sizeof *PLAN };
    struct bare *b = begin(3600 * 1000 * MS);
    struct qt_planned_event rest = {.waits = PLAN[0].waits};
    struct waiter w[N];

    b->session[0].in_tx = 1;
    for (int i = 0; i < N; i++) {
        start(b, &w[i], i, i, PLAN[i].waits);
        until_asleep(&w[i]);
    }
    for (int i = 0; i < N; i++)
        if (PLAN[i].goes) {
            atomic_store(&w[i].s->stuck_due_ns, QT_LET_GO);
            qt_wake(w[i].s);
            join(&w[i]);
            CHECK_INT(w[i].s->unordered, i == 0 ? QT_OUT_OF_ORDER : QT_IN_ORDER);
            w[i].s->sleep = QT_WAITS_FOR_TIME; /* sleeps for another reason: no commit may wake it */
        }
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 3);
    qt_await_turn(&b->session[0], &rest, rest.waits);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 4);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_WAITS], 3);
    for (int number = 1; number <= N; number++) {
        char text[24];
        snprintf(text, sizeof text, ";4:%d", number);
        settle(b, text);
        for (int i = 0; i < N; i++)
            if (!PLAN[i].goes && PLAN[i].number == number) {
                join(&w[i]);
                CHECK(w[i].used.ru_nvcsw > 0); /* the thread slept */
                CHECK(w[i].s->order_ns > 0);
            } else if (!PLAN[i].goes && PLAN[i].number > number) {
                CHECK_INT(w[i].over, 0);
            }
    }
    for (int i = 0; i < N; i++)
        CHECK_INT(w[i].s->sleep, PLAN[i].goes ? QT_WAITS_FOR_TIME : QT_AWAKE);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 4);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_WAITS], N);
    end(b);
}

/* A wait is not stuck as long as other commits are settled, no matter how long the wait lasts. */
static void wait_is_not_stuck_while_commits_are_settled(void)
{
    struct bare *b = begin(1000 * MS);
    struct waiter w;

    b->session[1].in_tx = 1;
    start(b, &w, 1, 5, "0:30");
    until_asleep(&w);
    for (int number = 1; number <= 30; number++) {
        char text[24];
        usleep(60 * 1000);
        CHECK_INT(w.over, 0);
        snprintf(text, sizeof text, ";0:%d", number);
        settle(b, text);
    }
    join(&w);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 0);
    CHECK_INT(b->session[1].unordered, 0);
    end(b);
}

/* The stuck wait that is earliest on the tape is released first. Among equal waits, the first session is released
 * first. Other sessions are ignored: not stuck, already released, or unknown to the engine. Releases are at least an
 * eighth of the bound apart. */
static void stuck_waits_are_released_one_at_a_time(void)
{
    static const int64_t DUE[SESSIONS + 1] = {90, QT_NOT_STUCK, 30, 10, 30, QT_LET_GO, 0, 0, 1};
    static const int ORDER[] = {3, 2, 4};
    struct bare *b = begin(400 * MS);
    struct waiter w[2];
    int64_t seen_ns = 0;
    int gone = 0, over = 0;

    start(b, &w[0], 6, 70, "0:1");
    start(b, &w[1], 7, 80, "0:1");
    for (int i = 0; i <= SESSIONS; i++)
        if (i != 6 && i != 7) {
            b->session[i].sleep = QT_WAITS_FOR_ORDER;
            b->session[i].stuck_due_ns = DUE[i];
        }
    while (!over) {
        int64_t broken_ns = b->e.waits.last_broken_ns;
        over = w[0].over && w[1].over;
        if (broken_ns != seen_ns && seen_ns != 0)
            CHECK(broken_ns - seen_ns >= 50 * MS);
        seen_ns = broken_ns;
        gone = 0;
        for (int k = 0; k < 3; k++) {
            CHECK(gone == k || b->session[ORDER[k]].stuck_due_ns != QT_LET_GO); /* not before the previous waits */
            gone += b->session[ORDER[k]].stuck_due_ns == QT_LET_GO;
        }
        usleep(500);
    }
    join(&w[0]);
    join(&w[1]);
    CHECK_INT(gone, 3);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 2);
    CHECK_INT(b->session[0].stuck_due_ns, 90);
    CHECK_INT(b->session[1].stuck_due_ns, QT_NOT_STUCK);
    CHECK_INT(b->session[8].stuck_due_ns, 1);
    CHECK_INT(b->session[8].sleep, QT_WAITS_FOR_ORDER);
    CHECK_INT(b->session[5].sleep, QT_WAITS_FOR_ORDER);
    for (int k = 0; k < 3; k++)
        CHECK_INT(b->session[ORDER[k]].sleep, QT_AWAKE);
    end(b);
}

/* A session outside a transaction waits for ten times the bound. A wait that ends by a stop or the end of the run does
 * not count as a timeout. */
static void session_outside_a_transaction_waits_longer(void)
{
    struct bare *b = begin(50 * MS);
    struct waiter w;

    start(b, &w, 0, 5, "0:1");
    join(&w);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 1);
    CHECK(w.s->order_ns >= 500 * MS);
    CHECK_INT(w.s->unordered, 0);
    b->e.options.order_bound_ns = 3600 * 1000 * MS;
    for (int way = 0; way < 2; way++) {
        start(b, &w, 1 + way, 5, "0:1");
        until_asleep(&w);
        *(way == 0 ? &b->e.stop : &b->e.ending) = 1;
        qt_wake(w.s);
        join(&w);
        b->e.stop = b->e.ending = 0;
    }
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_BROKEN], 1);
    CHECK_INT(b->e.measured.counts[QT_COUNT_ORDER_WAITS], 3);
    end(b);
}

int main(void)
{
    RUN(settled_commits_are_an_unbroken_sequence);
    RUN(list_of_waits_ends_at_invalid_text);
    RUN(nothing_waits_without_a_commit_order);
    RUN(released_session_ignores_its_remaining_waits);
    RUN(wait_is_not_stuck_while_commits_are_settled);
    RUN(stuck_waits_are_released_one_at_a_time);
    RUN(session_outside_a_transaction_waits_longer);
    return 0;
}

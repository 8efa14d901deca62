/* SPDX-License-Identifier: Apache-2.0 */
/* The order of commits. A statement waits for earlier commits on the tables that it uses: commits that had certainly
 * finished before the statement on the tape. The plan numbers the commits of each table by their end. The plan gives
 * each statement the number of commits to wait for. During the replay each table counts its finished commits, from the
 * first up to the first unfinished commit:
 *
 *   done:  2 3 5 ─► next = 1: nothing is settled
 *   1 comes      ─► next = 4: waits for 3 or fewer end; 5 waits for 4
 *
 * Skipped, refused and failed statements also count as finished. Lock waits in the target can form a deadlock that the
 * plan cannot see. A wait is therefore stuck if no commit has finished for order_bound_ns and the waiting session has
 * an open transaction. Sessions without a transaction hold no locks: their waits are stuck after ten times as long. The
 * engine breaks a stuck wait: the session continues before its turn. The engine chooses the stuck wait that is earliest
 * on the tape, and counts it. It breaks one wait at a time, because one resumed session may resolve the deadlock for
 * all. After a broken wait, the transaction no longer waits until it ends, because its locks must be released.
 *
 * If a statement adds rows, its wait is a guess and the likely cause of a deadlock. Such waits are broken first and are
 * not counted. They only prevent deadlocks, and the replayed rows are the same without them. Afterwards the transaction
 * waits only for commits. If no commit finishes for another order_bound_ns, the transaction's wait is the first to be
 * broken.
 *
 * Several engines can replay parts of one plan. Each of them passes on its finished commits of the tables that they
 * share, and another process chooses the wait that is broken.
 *
 * A stall is a period of order_bound_ns in which waits had to be broken. Stalls are consecutive as long as more than
 * one in MOVING_WAITS of the finished waits is broken. The replay then only advances because waits are broken. */
#include "engine/commit_order.h"

#include <stdlib.h>
#include <string.h>

#include "engine/stats.h"
#include "engine/pace.h"
#include "engine/outcomes.h"

#define NO_LOCKS_FACTOR 10
#define APART 8 /* order_bound_ns / APART is the minimum time between two broken waits */
#define MOVING_WAITS 10

struct item {
    uint64_t n; /* a commit's number, or the number of commits to wait for */
    struct qt_session *session;
};

/* A min-heap by `n`. */
struct heap {
    struct item *item;
    size_t n, room;
};

struct table {
    pthread_mutex_t lock;
    _Atomic uint64_t settled; /* commits 1 to `settled` are finished */
    struct heap done, waiting;
    int shared; /* sessions of other engines wait for its commits, or finish some of them */
};

/* Finished commits of shared tables, for the other engines: pairs (table, number). */
struct finished {
    pthread_mutex_t lock; /* taken after the lock of a table */
    int64_t *pair;
    size_t n, room; /* numbers of pairs */
    _Atomic uint32_t news;
};

struct qt_order {
    int32_t n;
    int led; /* another process chooses the stuck waits to break */
    struct finished finished;
    struct table table[];
};

static int heap_add(struct heap *h, struct item item)
{
    size_t at = h->n;
    if (h->n == h->room) {
        size_t room = h->room > 0 ? h->room * 2 : 16;
        struct item *larger = realloc(h->item, room * sizeof *larger);
        if (larger == NULL)
            return -1;
        h->item = larger;
        h->room = room;
    }
    h->n++;
    for (; at > 0 && h->item[(at - 1) / 2].n > item.n; at = (at - 1) / 2)
        h->item[at] = h->item[(at - 1) / 2];
    h->item[at] = item;
    return 0;
}

static void heap_sink(struct heap *h, size_t at, struct item item)
{
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= h->n)
            break;
        child += child + 1 < h->n && h->item[child + 1].n < h->item[child].n;
        if (h->item[child].n >= item.n)
            break;
        h->item[at] = h->item[child];
        at = child;
    }
    h->item[at] = item;
}

static struct item heap_pop(struct heap *h)
{
    struct item first = h->item[0], last = h->item[--h->n];
    if (h->n > 0)
        heap_sink(h, 0, last);
    return first;
}

struct qt_order *qt_order_new(int32_t tables)
{
    struct qt_order *o = calloc(1, sizeof *o + (size_t)tables * sizeof(struct table));
    if (o == NULL)
        return NULL;
    o->n = tables;
    pthread_mutex_init(&o->finished.lock, NULL);
    for (int32_t i = 0; i < tables; i++)
        pthread_mutex_init(&o->table[i].lock, NULL);
    return o;
}

void qt_order_free(struct qt_order *o)
{
    if (o == NULL)
        return;
    for (int32_t i = 0; i < o->n; i++) {
        pthread_mutex_destroy(&o->table[i].lock);
        free(o->table[i].done.item);
        free(o->table[i].waiting.item);
    }
    pthread_mutex_destroy(&o->finished.lock);
    free(o->finished.pair);
    free(o);
}

/* Reads the next "table:number" of a list. Returns 0 at the end of the list. */
static int read_pair(const char **p, uint64_t *table, uint64_t *number)
{
    char *end;
    while (**p == ' ')
        (*p)++;
    if (**p < '0' || **p > '9')
        return 0;
    *table = strtoull(*p, &end, 10);
    if (*end != ':')
        return 0;
    *number = strtoull(end + 1, &end, 10);
    *p = end;
    return 1;
}

/* Removes a session whose wait is over from the table's waiting sessions. */
static void stop_waiting(struct qt_session *s, struct table *t)
{
    int left = 0;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < t->waiting.n && !left; i++)
        if (t->waiting.item[i].session == s) {
            struct heap old = t->waiting;
            left = 1;
            t->waiting.n = 0; /* rebuilt in place without the session: each item is read before its slot is written */
            for (size_t k = 0; k < old.n; k++)
                if (k != i)
                    heap_add(&t->waiting, old.item[k]);
        }
    pthread_mutex_unlock(&t->lock);
}

/* Updates the count of stalls. Called just before a wait is broken. */
static void count_stall(struct qt_engine *e, int64_t now)
{
    int64_t waits = qt_counted(e, QT_COUNT_ORDER_WAITS), broken = qt_counted(e, QT_COUNT_ORDER_BROKEN), moving;

    if (now - atomic_load(&e->waits.stall_ns) < e->options.order_bound_ns)
        return;
    moving = waits - atomic_load(&e->waits.stall_waits) > MOVING_WAITS * (broken - atomic_load(&e->waits.stall_broken));
    atomic_store(&e->measured.counts[QT_COUNT_ORDER_STALLS], moving ? 1 : qt_counted(e, QT_COUNT_ORDER_STALLS) + 1);
    atomic_store(&e->waits.stall_ns, now);
    atomic_store(&e->waits.stall_waits, waits);
    atomic_store(&e->waits.stall_broken, broken);
}

static int is_guess(int64_t place) { return place % QT_PLACES == QT_ADDS; }

static int may_be_the_cause(struct qt_session *s)
{
    return is_guess(atomic_load(&s->at_table)) || atomic_load(&s->unordered) == QT_PAST_GUESSES;
}

/* Returns the next stuck wait to break, or NULL. Waits that may cause the deadlock come first, then the earliest wait
 * on the tape. */
static struct qt_session *next_stuck(struct qt_engine *e, int64_t *due_ns, int *is_cause)
{
    int64_t earliest = QT_NOT_STUCK;
    struct qt_session *first = NULL;

    *is_cause = 0;
    for (int64_t i = 0; i < e->table.n_sessions; i++) {
        struct qt_session *s = qt_session_at(e, i);
        int64_t due = atomic_load(&s->stuck_due_ns);
        int cause = may_be_the_cause(s);
        if (due == QT_NOT_STUCK || due == QT_LET_GO || cause < *is_cause || (cause == *is_cause && due >= earliest))
            continue;
        *is_cause = cause;
        earliest = due;
        first = s;
    }
    *due_ns = earliest;
    return first;
}

static void break_next_stuck(struct qt_engine *e, int64_t now)
{
    int64_t due;
    int is_cause;
    struct qt_session *first = next_stuck(e, &due, &is_cause);

    if (first != NULL && atomic_compare_exchange_strong(&first->stuck_due_ns, &due, QT_LET_GO)) {
        count_stall(e, now);
        if (is_cause && atomic_load(&first->unordered) == QT_IN_ORDER)
            atomic_store(&e->waits.last_broken_ns, now + e->options.order_bound_ns);
        qt_wake(first);
    }
}

/* A session with a stuck wait sets its `stuck_due_ns`. One thread breaks the next stuck wait, at least `apart` ns after
 * the last broken wait. If several engines share tables, the process that leads them breaks the waits. */
static void let_one_go(struct qt_engine *e, int64_t now, int64_t apart)
{
    int64_t last = atomic_load(&e->waits.last_broken_ns);

    if (!e->waits.order->led && now - last >= apart &&
        atomic_compare_exchange_strong(&e->waits.last_broken_ns, &last, now))
        break_next_stuck(e, now);
}

/* Returns whether the wait is over. The end of the run ends every wait. */
static int is_its_turn(struct qt_engine *e, struct table *t, uint64_t needed)
{
    return atomic_load(&t->settled) >= needed || qt_stopping(e) || atomic_load(&e->ending);
}

/* Returns 1 if the session's turn came, 0 if its wait was broken. */
static int sleep_until_turn(struct qt_session *s, const struct qt_planned_event *ev, struct table *t, uint64_t needed)
{
    struct qt_engine *e = s->engine;
    int64_t bound = e->options.order_bound_ns * (s->in_tx || s->locks_tables ? 1 : NO_LOCKS_FACTOR),
            apart = e->options.order_bound_ns / APART;
    uint64_t seen = atomic_load(&t->settled), now_settled;
    uint32_t changes = atomic_load(&e->schedule.speed.changes), now_changes;
    int64_t until = qt_now() + bound;

    qt_records_hand_over(s);
    while (!is_its_turn(e, t, needed) && atomic_load(&s->stuck_due_ns) != QT_LET_GO) {
        now_settled = atomic_load(&t->settled);
        now_changes = atomic_load(&e->schedule.speed.changes);
        if (now_settled != seen || now_changes != changes || qt_is_paused(e)) { /* no wait is stuck during a pause */
            seen = now_settled;
            changes = now_changes;
            until = qt_now() + bound;
            atomic_store(&s->stuck_due_ns, QT_NOT_STUCK);
        } else if (qt_now() >= until) { /* waits that began at the same time become stuck within `apart` */
            if (atomic_load(&s->stuck_due_ns) == QT_NOT_STUCK)
                atomic_store(&s->stuck_due_ns, ev->due_ns);
            else
                let_one_go(e, qt_now(), apart);
            until = qt_now() + apart;
        }
        atomic_store(&s->sleep, QT_WAITS_FOR_ORDER);
        if (!is_its_turn(e, t, needed) && atomic_load(&s->stuck_due_ns) != QT_LET_GO)
            qt_futex_wait(&s->sleep, QT_WAITS_FOR_ORDER, until);
        atomic_store(&s->sleep, QT_AWAKE);
    }
    atomic_store(&s->stuck_due_ns, QT_NOT_STUCK);
    return is_its_turn(e, t, needed);
}

/* Returns 0 if the wait was broken before the session's turn. */
static int await_commits(struct qt_session *s, const struct qt_planned_event *ev, struct table *t, uint64_t needed)
{
    int queued, in_turn;

    pthread_mutex_lock(&t->lock);
    queued = atomic_load(&t->settled) < needed && heap_add(&t->waiting, (struct item){needed, s}) == 0;
    pthread_mutex_unlock(&t->lock);
    if (!queued)
        return atomic_load(&t->settled) >= needed;
    atomic_store(&s->at_table, t - s->engine->waits.order->table);
    in_turn = sleep_until_turn(s, ev, t, needed);
    atomic_store(&s->at_table, -1);
    stop_waiting(s, t);
    return in_turn;
}

int qt_has_own_commit(const char *waits) { return strchr(waits, '|') != NULL; }

const char *qt_last_turn(const char *waits)
{
    const char *bar = strchr(waits, '|');
    return bar != NULL ? bar + 1 : waits;
}

void qt_await_turn(struct qt_session *s, const struct qt_planned_event *ev, const char *turn)
{
    struct qt_engine *e = s->engine;
    struct qt_order *o = e->waits.order;
    const char *p = turn;
    int64_t begun = 0;
    uint64_t table, needed;
    int in_turn = 1;

    while (o != NULL && in_turn && read_pair(&p, &table, &needed)) {
        int32_t unordered = atomic_load(&s->unordered);
        int guess = is_guess((int64_t)table);
        if (table >= (uint64_t)o->n || atomic_load(&o->table[table].settled) >= needed || (guess && unordered))
            continue;
        in_turn = unordered != QT_OUT_OF_ORDER;
        if (in_turn) {
            begun = begun == 0 ? qt_now() : begun;
            in_turn = await_commits(s, ev, &o->table[table], needed);
        }
        if (!in_turn)
            atomic_store(&s->unordered, !s->in_tx && !s->locks_tables ? QT_IN_ORDER
                                        : guess                       ? QT_PAST_GUESSES
                                                                      : QT_OUT_OF_ORDER);
        in_turn |= guess;
    }
    if (!in_turn)
        qt_count(e, QT_COUNT_ORDER_BROKEN, 1);
    if (begun == 0)
        return;
    s->free_ns = qt_now();
    s->order_ns += s->free_ns - begun;
    qt_count(e, QT_COUNT_ORDER_WAITS, 1);
    qt_count(e, QT_COUNT_ORDER_WAIT_NS, (uint64_t)(s->free_ns - begun));
}

/* Keeps a finished commit for the other engines. If there is no memory for it, their waits for it are broken. */
static void tell_others(struct finished *f, int64_t table, uint64_t number)
{
    pthread_mutex_lock(&f->lock);
    if (f->n == f->room) {
        size_t room = f->room > 0 ? f->room * 2 : 64;
        int64_t *larger = realloc(f->pair, room * 2 * sizeof *larger);
        if (larger != NULL) {
            f->pair = larger;
            f->room = room;
        }
    }
    if (f->n < f->room) {
        f->pair[2 * f->n] = table;
        f->pair[2 * f->n + 1] = (int64_t)number;
        f->n++;
    }
    pthread_mutex_unlock(&f->lock);
    atomic_fetch_add(&f->news, 1);
    qt_futex_wake(&f->news, 1);
}

static void settle_commit(struct qt_order *o, struct table *t, uint64_t number, int is_own)
{
    uint64_t settled;
    pthread_mutex_lock(&t->lock);
    settled = atomic_load(&t->settled);
    if (is_own && t->shared && number > settled)
        tell_others(&o->finished, t - o->table, number);
    if (number == settled + 1) {
        settled++;
        while (t->done.n > 0 && t->done.item[0].n <= settled + 1)
            settled = heap_pop(&t->done).n > settled ? settled + 1 : settled;
        atomic_store(&t->settled, settled);
        while (t->waiting.n > 0 && t->waiting.item[0].n <= settled)
            qt_wake(heap_pop(&t->waiting).session);
    } else if (number > settled) {
        heap_add(&t->done, (struct item){number, NULL});
    }
    pthread_mutex_unlock(&t->lock);
}

void qt_settle_turn(struct qt_engine *e, const char *turn)
{
    const char *p = turn + strcspn(turn, ";|");
    uint64_t table, number;

    if (*p != ';' || e->waits.order == NULL)
        return;
    p++;
    while (read_pair(&p, &table, &number))
        if (table < (uint64_t)e->waits.order->n)
            settle_commit(e->waits.order, &e->waits.order->table[table], number, 1);
}

void qt_settle_commits(struct qt_engine *e, const struct qt_planned_event *ev)
{
    if (ev->waits == NULL)
        return;
    if (qt_has_own_commit(ev->waits))
        qt_settle_turn(e, ev->waits); /* harmless if the COMMIT is already settled */
    qt_settle_turn(e, qt_last_turn(ev->waits));
}

int qt_engine_share(struct qt_engine *e, const int32_t *tables, int32_t n, struct qt_error *err)
{
    struct qt_order *o = e->waits.order;

    if (atomic_load(&e->schedule.zero_ns) != 0 || atomic_load(&e->schedule.go_ns) != 0)
        return qt_fail(err, QT_ESTATE, "the tables must be shared before the run begins");
    for (int32_t i = 0; i < n; i++)
        if (o == NULL || tables[i] < 0 || tables[i] >= o->n)
            return qt_fail(err, QT_EINVALID, "table %d: expected 0 to %d", (int)tables[i],
                           o == NULL ? -1 : (int)o->n - 1);
    for (int32_t i = 0; i < n; i++)
        o->table[tables[i]].shared = 1;
    if (o != NULL)
        o->led = n > 0;
    return QT_OK;
}

int32_t qt_engine_finished(struct qt_engine *e, int64_t *pairs, int32_t most, int64_t wait_ns)
{
    struct finished *f = e->waits.order == NULL ? NULL : &e->waits.order->finished;
    int64_t until = qt_now() + wait_ns;
    uint32_t news;
    int32_t n;

    if (f == NULL)
        return 0;
    do {
        news = atomic_load(&f->news);
        pthread_mutex_lock(&f->lock);
        n = f->n < (size_t)most ? (int32_t)f->n : most;
        if (n > 0) {
            memcpy(pairs, f->pair, (size_t)n * 2 * sizeof *pairs);
            f->n -= (size_t)n;
            memmove(f->pair, f->pair + 2 * (size_t)n, f->n * 2 * sizeof *pairs);
        }
        pthread_mutex_unlock(&f->lock);
        if (n == 0 && qt_now() < until)
            qt_futex_wait(&f->news, news, until);
    } while (n == 0 && qt_now() < until);
    return n;
}

int qt_engine_settle(struct qt_engine *e, const int64_t *pairs, int32_t n, struct qt_error *err)
{
    struct qt_order *o = e->waits.order;

    for (int32_t i = 0; i < n; i++) {
        int64_t table = pairs[2 * i], number = pairs[2 * i + 1];
        if (o == NULL || table < 0 || table >= o->n || number < 1)
            return qt_fail(err, QT_EINVALID, "table %lld, commit %lld: unknown", (long long)table, (long long)number);
        settle_commit(o, &o->table[table], (uint64_t)number, 0);
    }
    return QT_OK;
}

int64_t qt_engine_stuck(struct qt_engine *e, int32_t *is_cause)
{
    int64_t due;
    int cause;

    next_stuck(e, &due, &cause);
    *is_cause = cause;
    return due;
}

void qt_engine_let_go(struct qt_engine *e) { break_next_stuck(e, qt_now()); }

int32_t qt_engine_doing(struct qt_engine *e, struct qt_doing *out, int32_t most)
{
    int64_t n = qt_counting_sessions(e);
    int32_t found = 0;

    for (int64_t i = 0; i < n; i++) {
        struct qt_session *s = qt_session_at(e, i);
        struct qt_doing doing = {.session = s->id,
                                 .seq = atomic_load(&s->at_seq),
                                 .connection = atomic_load(&s->target_id),
                                 .table = atomic_load(&s->at_table),
                                 .asleep = atomic_load(&s->sleep) != QT_AWAKE};
        if (atomic_load(&s->life) != QT_LIVE)
            continue;
        if (doing.table >= 0)
            doing.commit = (int64_t)atomic_load(&e->waits.order->table[doing.table].settled) + 1;
        if (found < most)
            out[found] = doing;
        found++;
    }
    return found;
}

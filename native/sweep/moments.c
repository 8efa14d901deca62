/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the moments of commits and passes their marks to numbers.c. A moment is the time at which a commit released its
 * locks.
 *
 *   transaction   --[UPDATE]----[COMMIT]     the moment is the beginning of its COMMIT (rule 2)
 *   own write     --[UPDATE......]           the moment is its end (rule 3), or
 *   own write     --[UPDATE.............]    just before the first statement of a transaction that had its locks
 *   transaction          --[UPDATE]---       after `since`: the write's beginning, or the last commit before its end
 *   DDL           --[ALTER..............]    the last moment without the locks of a transaction (rule 11)
 *
 * Steps at the same moment are processed in the order of `enum qt_step`, because rule 3 excludes both ends of an
 * interval. */
#include "sweep/moments.h"

#include "sweep/numbers.h"
#include "sweep/rows.h"
#include "sweep/transactions.h"

static struct qt_sweep_table *table_of(struct qt_sweep *s, int32_t table) { return &s->table[table]; }

/* Rule 9: table `i` whose locks the event may have waited for; NULL after the last one. An event with unknown tables
 * may have waited for the locks of any statement, and any event for the locks of a statement with unknown tables. */
static struct qt_sweep_table *watched(const struct qt_sweep *s, const struct qt_event *e, int32_t i)
{
    int unknown = e->n_uses > 0 && e->uses[0].table == QT_TABLE_UNKNOWN;
    if (i < e->n_uses)
        return &s->table[unknown ? QT_TABLE_ALL : e->uses[i].table];
    return i == e->n_uses && s->unknown && !unknown ? &s->table[QT_TABLE_UNKNOWN] : NULL;
}

/* Table `i` in which others see the event's locks; NULL after the last one. */
static struct qt_sweep_table *touched(const struct qt_sweep *s, const struct qt_event *e, int32_t i)
{
    if (i < e->n_uses)
        return &s->table[e->uses[i].table];
    return i == e->n_uses && s->unknown ? &s->table[QT_TABLE_ALL] : NULL;
}

/* Whether the event has a lock in its table `i`. A plain read has one only if others lock the whole table. */
static int has_lock(const struct qt_sweep *s, const struct qt_event *e, int32_t i)
{
    return i == e->n_uses || e->held || s->table[e->uses[i].table].is_exclusive;
}

/* Returns whether two statements on `table` and on the tables of the event may need the same table. */
static int uses_table(const struct qt_event *e, int32_t table)
{
    for (int32_t i = 0; i < e->n_uses; i++)
        if (e->uses[i].table == table || e->uses[i].table == QT_TABLE_UNKNOWN || table == QT_TABLE_UNKNOWN)
            return 1;
    return 0;
}

void qt_sweep_at(struct qt_sweep *s, int64_t ns, enum qt_step step, struct qt_event *e, struct qt_tx *tx)
{
    struct qt_point point = {.ns = ns, .type = (uint8_t)step, .event = e, .tx = tx};
    if (e != NULL) {
        point.lo_ns = e->lo_ns;
        point.session = e->session;
        point.seq = e->seq;
        point.part = e->part;
        e->left++;
    }
    if (tx != NULL)
        tx->refs++;
    if (qt_heap_add(&s->moments, &point) != 0)
        s->failed = 1;
}

static int64_t first_after(const struct qt_sweep_table *t, int64_t ns)
{
    size_t low = 0, high = t->n_held;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->held_ns[middle] > ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low < t->n_held ? t->held_ns[low] : INT64_MAX;
}

/* Rule 3: returns the first moment after `since` at which a transaction's statement had its locks. INT64_MAX = none so
 * far. */
static int64_t first_behind(const struct qt_sweep *s, const struct qt_event *e)
{
    int64_t since = e->from_ns, first = INT64_MAX;
    const struct qt_sweep_table *t;
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++)
        since = t->closed_ns > since ? t->closed_ns : since;
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++) {
        int64_t ns = first_after(t, since);
        first = ns < first ? ns : first;
    }
    return first;
}

/* Returns the place of the first lock after `ns`. */
static size_t holder_after(const struct qt_sweep_table *t, int64_t ns)
{
    size_t low = 0, high = t->n_holders;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->holder[middle].ns > ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Returns the earliest lock after e->after_ns of a transaction that had locks at until_ns. INT64_MAX = none. */
static int64_t first_around(const struct qt_sweep *s, const struct qt_event *e, int64_t until_ns)
{
    int64_t first = INT64_MAX;
    const struct qt_sweep_table *t;
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++) {
        size_t k = holder_after(t, e->after_ns > e->from_ns ? e->after_ns : e->from_ns);
        while (k < t->n_holders && t->holder[k].ns <= until_ns && t->holder[k].end_ns < until_ns)
            k++;
        if (k < t->n_holders && t->holder[k].ns <= until_ns && t->holder[k].ns < first)
            first = t->holder[k].ns;
    }
    return first;
}

/* Rule 11: DDL and LOCK TABLES had the table when no transaction had a lock on it. Returns the lock that came next.
 * INT64_MAX = none so far. */
static int64_t first_holder(const struct qt_sweep *s, const struct qt_event *e)
{
    int64_t first = INT64_MAX, ns = first_around(s, e, INT64_MAX - 1);
    for (; ns != INT64_MAX; ns = first_around(s, e, first - 1))
        first = ns;
    return first;
}

/* Returns a lower bound for first_holder at the end of the event. */
static int64_t least_holder(const struct qt_sweep *s, const struct qt_event *e)
{
    int64_t first = INT64_MAX;
    const struct qt_sweep_table *t;
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++) {
        size_t k = holder_after(t, e->lo_ns);
        if (k < t->n_holders && t->holder[k].ns < first)
            first = t->holder[k].ns;
    }
    return first;
}

static int64_t before_what(const struct qt_sweep *s, const struct qt_event *e)
{
    return e->exclusive ? first_holder(s, e) : first_behind(s, e);
}

/* Rule 11: DDL and LOCK TABLES lock a table in the order of their arrival. */
static void keep_behind_whole(struct qt_sweep *s, struct qt_event *e)
{
    struct qt_sweep_table *t;
    for (int32_t i = 0; s->times == QT_ARRIVALS && (t = watched(s, e, i)) != NULL; i++) {
        int64_t ns = t->whole_ns + 1;
        if (e->moment_ns < ns && (ns < e->hi_ns || e->is_last))
            e->moment_ns = ns;
    }
    for (int32_t i = 0; e->exclusive && (t = touched(s, e, i)) != NULL; i++)
        t->whole_ns = e->moment_ns > t->whole_ns ? e->moment_ns : t->whole_ns;
}

void qt_sweep_decide(struct qt_sweep *s, struct qt_event *e)
{
    e->decided = 1;
    keep_behind_whole(s, e);
    for (int32_t i = 0; i < e->n_uses; i++)
        qt_sweep_mark(s, e, e->uses[i].table, QT_COMMITS, e->moment_ns, !e->is_long);
    if (s->unknown)
        qt_sweep_mark(s, e, QT_TABLE_ALL, QT_COMMITS, e->moment_ns, !e->is_long);
    for (int32_t i = 0; i < e->n_uses && e->exclusive && !e->is_long; i++) /* rule 11; the other cases are in take.c */
        qt_sweep_wait(s, e, e->uses[i].table, QT_LOCKS, e->moment_ns - 1);
    if (!e->is_long && e->uses[0].table > QT_TABLE_UNKNOWN)
        qt_sweep_wait_unknown(s, e, e->moment_ns - 1);
    qt_sweep_event_done(s, e);
}

void qt_sweep_slow(struct qt_sweep *s, struct qt_event *e)
{
    s->slow = qt_sweep_grown(s, s->slow, &s->slow_room, s->n_slow, sizeof *s->slow);
    if (s->n_slow == s->slow_room)
        return;
    e->slow_at = s->n_slow++;
    s->slow[e->slow_at] = e;
    qt_sweep_wait_all(s, e, e->lo_ns - 1);
    qt_sweep_at(s, e->hi_ns, QT_SLOW_ENDS, e, NULL);
}

/* Rule 8: the statement certainly waited until `ns`. */
static void slow_waited(struct qt_sweep *s, struct qt_event *e, int64_t ns)
{
    if (ns < e->from_ns || ns <= e->lo_ns || ns >= e->hi_ns)
        return;
    e->from_ns = ns + 1;
    qt_sweep_wait_all(s, e, ns);
}

/* Rule 8: DDL or LOCK TABLES frees the table at `ns`. A statement that ends later had no lock on this table before. */
static void table_freed(struct qt_sweep *s, int64_t session, int32_t table, int64_t ns)
{
    for (size_t k = 0; k < s->n_slow && table > QT_TABLE_UNKNOWN; k++)
        for (int32_t i = 0; s->slow[k]->session != session && i < s->slow[k]->n_uses; i++)
            if (s->slow[k]->uses[i].table == table)
                slow_waited(s, s->slow[k], ns);
}

static void slow_ends(struct qt_sweep *s, struct qt_event *e)
{
    struct qt_event *last = s->slow[--s->n_slow];
    s->slow[e->slow_at] = last;
    last->slow_at = e->slow_at;
    if (e->from_ns == e->lo_ns || e->hi_ns - e->from_ns > s->overlap_ns)
        return;
    e->is_long = 0; /* the rest of its time may have been lock waits */
    if (e->held)
        qt_sweep_wait_all(s, e, e->hi_ns - 1);
}

static void own_opens(struct qt_sweep *s, struct qt_event *e)
{
    struct qt_sweep_table *t;
    qt_list_add(&s->own, e);
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++) {
        t->own_open++;
        t->whole_open += e->exclusive;
    }
    s->n_whole += e->exclusive;
    e->after_ns = e->lo_ns;
}

static void own_closes(struct qt_sweep *s, struct qt_event *e)
{
    struct qt_sweep_table *t;
    qt_list_remove(&s->own, e);
    s->n_whole -= e->exclusive;
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++) {
        if (--t->own_open == 0)
            t->n_held = 0;
        if (e->exclusive && --t->whole_open == 0) {
            t->n_holders = 0;
            t->list++;
        }
    }
}

static void own_ends(struct qt_sweep *s, struct qt_event *e)
{
    int64_t first = s->times == QT_ARRIVALS || e->decided ? INT64_MAX : before_what(s, e);
    if (e->decided)
        return;
    if (first != INT64_MAX)
        e->moment_ns = first - 1;
    own_closes(s, e);
    qt_sweep_decide(s, e);
    for (int32_t i = 0; i < e->n_uses && e->exclusive; i++)
        table_freed(s, e->session, e->uses[i].table, e->hi_ns);
}

/* Rule 4: the moment of a write is after the transactions that are open when the write arrives. */
static void own_arrives(struct qt_sweep *s, struct qt_event *e)
{
    struct qt_sweep_table *t;
    own_opens(s, e);
    for (int32_t i = 0; (t = watched(s, e, i)) != NULL; i++) {
        for (size_t k = 0; k < t->n_open; k++) {
            struct qt_tx *tx = t->open[k];
            tx->waiting = qt_sweep_grown(s, tx->waiting, &tx->waiting_room, tx->n_waiting, sizeof *tx->waiting);
            if (tx->n_waiting == tx->waiting_room)
                return;
            tx->waiting[tx->n_waiting++] = e;
            e->undecided++;
            e->left++;
        }
    }
    if (e->undecided == 0) {
        own_closes(s, e);
        qt_sweep_decide(s, e);
    }
}

static void add_open(struct qt_sweep *s, struct qt_sweep_table *t, struct qt_tx *tx)
{
    for (size_t k = 0; k < t->n_open; k++)
        if (t->open[k] == tx)
            return;
    t->open = qt_sweep_grown(s, t->open, &t->open_room, t->n_open, sizeof *t->open);
    if (t->n_open < t->open_room)
        t->open[t->n_open++] = tx;
}

/* Returns the entries of a transaction in a table that it uses. NULL: it does not use the table. */
static struct qt_noted *noted(const struct qt_sweep *s, const struct qt_sweep_table *t, struct qt_tx *tx)
{
    struct qt_noted *found = t == &s->table[QT_TABLE_ALL] ? &tx->noted : NULL;
    for (size_t i = 0; i < tx->n_used && found == NULL; i++)
        if (&s->table[tx->used[i].table] == t)
            found = &tx->used[i].noted;
    if (found != NULL && found->list != t->list)
        *found = (struct qt_noted){t->list, {-1, -1}};
    return found;
}

static void note_holder(struct qt_sweep *s, struct qt_sweep_table *t, struct qt_tx *tx, int64_t ns, int later)
{
    struct qt_noted *known = noted(s, t, tx);
    if (known == NULL || known->at[later] >= 0)
        return;
    t->holder = qt_sweep_grown(s, t->holder, &t->holder_room, t->n_holders, sizeof *t->holder);
    if (t->n_holders == t->holder_room)
        return;
    known->at[later] = (int32_t)t->n_holders;
    t->holder[t->n_holders++] = (struct qt_holder){ns, INT64_MAX};
}

static void end_holder(const struct qt_sweep *s, struct qt_sweep_table *t, struct qt_tx *tx, int64_t ns)
{
    const struct qt_noted *known = noted(s, t, tx);
    for (int later = 0; known != NULL && later < 2; later++)
        if (known->at[later] >= 0)
            t->holder[known->at[later]].end_ns = ns;
}

static void locks_taken(struct qt_sweep *s, const struct qt_event *e, struct qt_tx *tx)
{
    struct qt_sweep_table *t;
    for (int32_t i = 0; (t = touched(s, e, i)) != NULL; i++) {
        if (t->whole_open > 0 && !tx->over && has_lock(s, e, i))
            note_holder(s, t, tx, e->hi_ns, i < e->n_uses && e->uses[i].later);
        if (t->own_open == 0 || !e->held)
            continue;
        t->held_ns = qt_sweep_grown(s, t->held_ns, &t->held_room, t->n_held, sizeof *t->held_ns);
        if (t->n_held < t->held_room)
            t->held_ns[t->n_held++] = e->hi_ns;
    }
}

static void tx_opens(struct qt_sweep *s, struct qt_tx *tx, const struct qt_event *e)
{
    struct qt_sweep_table *t;
    for (int32_t i = 0; !tx->over && (t = touched(s, e, i)) != NULL; i++) /* over: it ended at the same moment */
        if (has_lock(s, e, i) && (i == e->n_uses || !e->uses[i].later))
            add_open(s, t, tx);
}

static void leave_open(struct qt_sweep_table *t, const struct qt_tx *tx)
{
    for (size_t k = 0; k < t->n_open; k++)
        if (t->open[k] == tx) {
            t->open[k] = t->open[--t->n_open];
            return;
        }
}

static void close_table(const struct qt_sweep *s, struct qt_sweep_table *t, struct qt_tx *tx, int64_t ns)
{
    leave_open(t, tx);
    end_holder(s, t, tx, ns);
    if (!tx->dropped) {
        t->closed_ns = ns;
        t->n_held = 0; /* held_ns only contains moments before this commit */
    }
}

static void note_after(struct qt_sweep *s, struct qt_event *e, int64_t ns)
{
    e->after_ns = ns;
    if (e->is_long)
        slow_waited(s, e, ns);
}

/* Rule 11: DDL is after a transaction that had locked the table before the DDL arrived. It is then also after each
 * transaction that had locked the table before that one ended. */
static void note_end(struct qt_sweep *s, const struct qt_tx *tx, int64_t ns)
{
    for (struct qt_event *e = s->own.first; s->n_whole > 0 && e != NULL; e = e->after)
        for (size_t i = 0; e->exclusive && i < tx->n_used; i++)
            if (tx->used[i].hi_ns <= e->after_ns && uses_table(e, tx->used[i].table))
                note_after(s, e, ns);
}

static void tx_ends(struct qt_sweep *s, struct qt_tx *tx, int64_t ns)
{
    note_end(s, tx, ns);
    for (size_t i = 0; tx->whole && !tx->dropped && i < tx->n_used; i++)
        if (tx->used[i].held)
            table_freed(s, -1, tx->used[i].table, ns);
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].held)
            close_table(s, table_of(s, tx->used[i].table), tx, ns);
    if (s->unknown && qt_sweep_has_locks(tx))
        close_table(s, table_of(s, QT_TABLE_ALL), tx, ns);
    for (size_t i = 0; i < tx->n_waiting; i++) {
        struct qt_event *e = tx->waiting[i];
        e->undecided--;
        if (!e->decided && !tx->dropped && (ns < e->hi_ns || e->is_last) && ns > e->at_ns)
            e->moment_ns = ns + 1;
        if (!e->decided && e->undecided == 0) {
            own_closes(s, e);
            qt_sweep_decide(s, e);
        }
        qt_sweep_event_done(s, e);
    }
    tx->n_waiting = 0;
}

void qt_sweep_moments_until(struct qt_sweep *s, int64_t ns)
{
    while (s->moments.n > 0 && s->moments.point[0].ns < ns && !s->failed) {
        struct qt_point point = qt_heap_take(&s->moments);
        switch ((enum qt_step)point.type) {
        case QT_SLOW_ENDS:
            slow_ends(s, point.event);
            break;
        case QT_OWN_ENDS:
        case QT_WHOLE_ENDS:
            own_ends(s, point.event);
            break;
        case QT_LOCKS_TAKEN:
            locks_taken(s, point.event, point.tx);
            break;
        case QT_TX_ENDS:
            tx_ends(s, point.tx, point.ns);
            break;
        case QT_OWN_ARRIVES:
            own_arrives(s, point.event);
            break;
        case QT_OPENS:
            if (point.tx != NULL)
                tx_opens(s, point.tx, point.event);
            else
                own_opens(s, point.event);
            break;
        }
        if (point.event != NULL)
            qt_sweep_event_done(s, point.event);
        if (point.tx != NULL)
            qt_sweep_tx_release(s, point.tx);
    }
    s->now_ns = ns;
}

int64_t qt_sweep_moments_bound(const struct qt_sweep *s)
{
    int64_t bound = s->now_ns;
    for (const struct qt_event *e = s->own.first; e != NULL; e = e->after) {
        int64_t least = e->moment_ns;
        if (s->times != QT_ARRIVALS) {
            least = e->exclusive ? least_holder(s, e) : first_behind(s, e);
            least = least < s->now_ns ? least - 1 : s->now_ns - 1;
        }
        bound = least < bound ? least : bound;
    }
    return bound - 1;
}

void qt_sweep_end(struct qt_sweep *s)
{
    qt_sweep_moments_until(s, INT64_MAX);
    for (size_t i = 0; i < s->session_room; i++) {
        struct qt_tx *tx = s->session[i].tx;
        if (tx == NULL)
            continue;
        tx->dropped = 1;
        tx_ends(s, tx, INT64_MAX);
        qt_sweep_finish(s, tx);
        s->session[i].tx = NULL;
    }
}

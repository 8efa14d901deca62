/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the moment of each commit, and gives marks and waits to numbers.c.
 *
 *   transaction   --[UPDATE]----[COMMIT]     the moment is the beginning of its COMMIT (rule 2)
 *   own write     --[UPDATE......]           the moment is its end (rule 3), or
 *   own write     --[UPDATE.............]    just before the first statement of a transaction that had its locks
 *   transaction          --[UPDATE]---       behind `since`: the write's beginning, or the last commit before its end
 *
 * What happens at one moment happens in the order of `enum step`: rule 3 asks for what lies strictly between.
 */
#include <stdlib.h>

#include "sweep/state.h"

enum step { OWN_ENDS, LOCKS_TAKEN, TX_ENDS, OWN_ARRIVES, OPENS };

static struct qt_sweep_table *table_of(struct qt_sweep *s, int32_t table) { return &s->table[table]; }

static void at(struct qt_sweep *s, int64_t ns, enum step step, struct qt_event *e, struct qt_tx *tx)
{
    struct qt_point point = {.ns = ns, .type = (uint8_t)step, .event = e, .tx = tx};
    if (e != NULL) {
        point.lo_ns = e->lo_ns;
        point.session = e->session;
        point.seq = e->seq;
        e->left++;
    }
    if (tx != NULL)
        tx->refs++;
    if (qt_heap_add(&s->moments, &point) != 0)
        s->failed = 1;
}

/* ---- transactions ---- */

static struct qt_used *used_of(struct qt_sweep *s, struct qt_tx *tx, int32_t table)
{
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].table == table)
            return &tx->used[i];
    tx->used = qt_sweep_grown(s, tx->used, &tx->used_room, tx->n_used, sizeof *tx->used);
    if (tx->n_used == tx->used_room)
        return NULL;
    tx->used[tx->n_used] = (struct qt_used){.table = table};
    return &tx->used[tx->n_used++];
}

static int has_locks(const struct qt_tx *tx)
{
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].held)
            return 1;
    return 0;
}

/* Nothing of it comes any more. */
static void finish(struct qt_sweep *s, struct qt_tx *tx)
{
    tx->over = 1;
    qt_sweep_settle_reader(s, tx);
    qt_sweep_tx_release(s, tx);
}

static void note_tables(struct qt_sweep *s, struct qt_tx *tx, const struct qt_event *e)
{
    for (int32_t i = 0; i < e->n_uses; i++) {
        struct qt_used *used = used_of(s, tx, e->uses[i].table);
        if (used == NULL)
            return;
        if (e->held && !used->held) {
            used->held = 1;
            used->lo_ns = e->lo_ns;
        }
        if (tx->reader != NULL) {
            used->read_later |= !e->locks;
            used->locked_later |= e->locks;
        }
    }
}

/* ---- writes of their own ---- */

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

/* Rule 3: the first moment at which a transaction's statement had its locks behind `since`; INT64_MAX = none so far. */
static int64_t first_behind(const struct qt_sweep *s, const struct qt_event *e)
{
    int64_t since = e->lo_ns, first = INT64_MAX;
    for (int32_t i = 0; i < e->n_uses; i++)
        if (s->table[e->uses[i].table].closed_ns > since)
            since = s->table[e->uses[i].table].closed_ns;
    for (int32_t i = 0; i < e->n_uses; i++) {
        int64_t ns = first_after(&s->table[e->uses[i].table], since);
        first = ns < first ? ns : first;
    }
    return first;
}

static void decide(struct qt_sweep *s, struct qt_event *e)
{
    int64_t lo = e->lo_ns;
    e->decided = 1;
    e->first_ns = e->closes && lo < e->moment_ns ? lo : e->moment_ns;
    for (int32_t i = 0; i < e->n_uses; i++)
        qt_sweep_mark(s, e, e->uses[i].table, QT_COMMITS, e->moment_ns, !e->is_long && e->moment_ns == e->first_ns);
    if (s->unknown && !(e->closes && e->moment_ns == lo))
        qt_sweep_mark(s, e, QT_ALL_TABLES, QT_COMMITS, e->moment_ns, !e->is_long && e->moment_ns == e->first_ns);
    if (!e->closes && !e->is_long && e->uses[0].table > QT_UNKNOWN_TABLE)
        qt_sweep_wait_unknown(s, e, e->moment_ns - 1);
    qt_sweep_event_done(s, e);
}

static void own_opens(struct qt_sweep *s, struct qt_event *e)
{
    qt_list_add(&s->own, e);
    for (int32_t i = 0; i < e->n_uses; i++)
        table_of(s, e->uses[i].table)->own_open++;
}

static void own_closes(struct qt_sweep *s, struct qt_event *e)
{
    qt_list_remove(&s->own, e);
    for (int32_t i = 0; i < e->n_uses; i++) {
        struct qt_sweep_table *t = table_of(s, e->uses[i].table);
        if (--t->own_open == 0)
            t->n_held = 0;
    }
}

static void own_ends(struct qt_sweep *s, struct qt_event *e)
{
    int64_t first = s->times == QT_ARRIVALS || e->decided ? INT64_MAX : first_behind(s, e);
    if (e->decided)
        return;
    if (first != INT64_MAX)
        e->moment_ns = first - 1;
    own_closes(s, e);
    decide(s, e);
}

/* Rule 4: its moment lies behind the transactions that are open when it arrives. */
static void own_arrives(struct qt_sweep *s, struct qt_event *e)
{
    own_opens(s, e);
    for (int32_t i = 0; i < e->n_uses; i++) {
        struct qt_sweep_table *t = table_of(s, e->uses[i].table);
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
        decide(s, e);
    }
}

/* ---- what happens at a moment ---- */

static void locks_taken(struct qt_sweep *s, const struct qt_event *e)
{
    for (int32_t i = 0; i < e->n_uses; i++) {
        struct qt_sweep_table *t = table_of(s, e->uses[i].table);
        if (t->own_open == 0)
            continue;
        t->held_ns = qt_sweep_grown(s, t->held_ns, &t->held_room, t->n_held, sizeof *t->held_ns);
        if (t->n_held < t->held_room)
            t->held_ns[t->n_held++] = e->hi_ns;
    }
}

static void tx_opens(struct qt_sweep *s, struct qt_tx *tx, const struct qt_event *e)
{
    for (int32_t i = 0; i < e->n_uses && !tx->over; i++) { /* over: it ended at this very moment */
        struct qt_sweep_table *t = table_of(s, e->uses[i].table);
        size_t k = 0;
        while (k < t->n_open && t->open[k] != tx)
            k++;
        if (k < t->n_open)
            continue;
        t->open = qt_sweep_grown(s, t->open, &t->open_room, t->n_open, sizeof *t->open);
        if (t->n_open < t->open_room)
            t->open[t->n_open++] = tx;
    }
}

static void leave_open(struct qt_sweep_table *t, const struct qt_tx *tx)
{
    for (size_t k = 0; k < t->n_open; k++)
        if (t->open[k] == tx) {
            t->open[k] = t->open[--t->n_open];
            return;
        }
}

static void tx_ends(struct qt_sweep *s, struct qt_tx *tx, int64_t ns)
{
    for (size_t i = 0; i < tx->n_used; i++) {
        struct qt_sweep_table *t = table_of(s, tx->used[i].table);
        if (!tx->used[i].held)
            continue;
        leave_open(t, tx);
        if (!tx->dropped) {
            t->closed_ns = ns;
            t->n_held = 0; /* all of them lie before it */
        }
    }
    for (size_t i = 0; i < tx->n_waiting; i++) {
        struct qt_event *e = tx->waiting[i];
        e->undecided--;
        if (!e->decided && !tx->dropped && ns < e->hi_ns && ns > e->at_ns)
            e->moment_ns = ns + 1;
        if (!e->decided && e->undecided == 0) {
            own_closes(s, e);
            decide(s, e);
        }
        qt_sweep_event_done(s, e);
    }
    tx->n_waiting = 0;
}

void qt_sweep_moments_until(struct qt_sweep *s, int64_t ns)
{
    while (s->moments.n > 0 && s->moments.point[0].ns < ns && !s->failed) {
        struct qt_point point = qt_heap_take(&s->moments);
        switch ((enum step)point.type) {
        case OWN_ENDS:
            own_ends(s, point.event);
            break;
        case LOCKS_TAKEN:
            locks_taken(s, point.event);
            break;
        case TX_ENDS:
            tx_ends(s, point.tx, point.ns);
            break;
        case OWN_ARRIVES:
            own_arrives(s, point.event);
            break;
        case OPENS:
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

/* No mark or wait comes any more with a moment before this. */
int64_t qt_sweep_moments_bound(const struct qt_sweep *s)
{
    int64_t bound = s->now_ns;
    for (const struct qt_event *e = s->own.first; e != NULL; e = e->after) {
        int64_t least = e->moment_ns;
        if (s->times != QT_ARRIVALS) {
            least = first_behind(s, e);
            least = least < s->now_ns ? least - 1 : s->now_ns - 1;
        }
        bound = least < bound ? least : bound;
    }
    return bound - 1;
}

/* ---- events as they come ---- */

/* 2: the commit of a transaction. */
static void take_end(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    int in_front = !(e->alone && e->is_long);
    int32_t least = INT32_MAX;
    e->ends = 1;
    e->closes = has_locks(tx) != 0;
    if (!e->closes)
        return;
    e->first_ns = e->lo_ns;
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].held) {
            qt_sweep_mark(s, e, tx->used[i].table, QT_COMMITS, e->lo_ns, in_front);
            least = tx->used[i].table < least ? tx->used[i].table : least;
        }
    if (s->unknown)
        qt_sweep_mark(s, e, QT_ALL_TABLES, QT_COMMITS, e->lo_ns, in_front);
    for (int32_t i = 0; i < e->n_uses && e->alone && !e->is_long; i++)
        least = e->uses[i].table < least ? e->uses[i].table : least;
    if (least > QT_UNKNOWN_TABLE)
        qt_sweep_wait_unknown(s, e, e->lo_ns - 1);
    at(s, e->lo_ns, TX_ENDS, NULL, tx);
}

/* 3, 4: a write of its own. */
static void take_own(struct qt_sweep *s, struct qt_event *e)
{
    int64_t from = s->times == QT_ARRIVALS ? e->at_ns : e->lo_ns;
    e->left++; /* until it is decided */
    e->moment_ns = s->times == QT_ARRIVALS ? e->at_ns : e->hi_ns;
    if (e->is_long || e->closes)
        for (int32_t i = 0; i < e->n_uses; i++)
            qt_sweep_wait(s, e, e->uses[i].table, QT_COMMITS, (e->is_long ? e->lo_ns : e->first_ns) - 1);
    if (e->hi_ns <= from) { /* nothing lies strictly between */
        decide(s, e);
        return;
    }
    at(s, from, s->times == QT_ARRIVALS ? OWN_ARRIVES : OPENS, e, NULL);
    at(s, e->hi_ns, OWN_ENDS, e, NULL);
}

/* 5, 7: a locking statement of a transaction. */
static void take_held(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    int64_t until = (e->is_long ? e->lo_ns : e->hi_ns) - 1;
    int adds = 0, marks_locks = 0;
    for (int32_t i = 0; i < e->n_uses; i++) {
        const struct qt_use *use = &e->uses[i];
        qt_sweep_wait(s, e, use->table, QT_COMMITS, until);
        if (use->asks && (e->is_long || !use->adds))
            qt_sweep_wait(s, e, use->table, QT_ADDS, until);
        adds |= use->adds;
        if (s->table[use->table].is_long || s->table[QT_UNKNOWN_TABLE].is_long) {
            qt_sweep_mark(s, e, use->table, QT_LOCKS, e->hi_ns, 0);
            marks_locks = 1;
        }
    }
    if (marks_locks && s->unknown)
        qt_sweep_mark(s, e, QT_ALL_TABLES, QT_LOCKS, e->hi_ns, 0);
    if (adds)
        qt_sweep_grant(s, e);
    if (s->times == QT_ARRIVALS)
        at(s, e->lo_ns, OPENS, e, tx);
    else
        at(s, e->hi_ns, LOCKS_TAKEN, e, NULL);
}

/* 6: what takes no locks. */
static void take_read(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx, int is_read)
{
    int64_t until = e->lo_ns;
    if (s->times == QT_ENDS && e->at_ns > until)
        until = e->at_ns;
    if (until > e->hi_ns - 1)
        until = e->hi_ns - 1;
    if (e->ends)
        until = e->lo_ns - 1;
    for (int32_t i = 0; i < e->n_uses; i++)
        qt_sweep_read(s, e, e->uses[i].table, until);
    if (tx != NULL && is_read && tx->reader == NULL) {
        e->left++; /* until all tables of the transaction are known */
        tx->reader = e;
        qt_sweep_look(s, tx, until, e->hi_ns - 1);
    }
}

static void take_uses(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx, int is_read)
{
    if (e->is_long && e->locks) /* 8 */
        for (int32_t i = 0; i < e->n_uses; i++)
            qt_sweep_wait(s, e, e->uses[i].table, QT_LOCKS, e->lo_ns - 1);
    if (tx != NULL)
        note_tables(s, tx, e);
    if (e->alone)
        take_own(s, e);
    else if (e->held)
        take_held(s, e, tx);
    else
        take_read(s, e, tx, is_read);
}

void qt_sweep_take(struct qt_sweep *s, const struct qt_event *event, int64_t tx_first, int64_t tx_end, int is_own,
                   int is_read)
{
    struct qt_sweep_session *session = qt_sweep_session(s, event->session);
    struct qt_event *e = qt_sweep_new_event(s, event);
    struct qt_tx *old, *tx = NULL;

    if (session == NULL || e == NULL)
        return;
    old = session->tx;
    if (tx_first >= 0 && tx_end == e->seq) /* 1: nothing but an end */
        e->n_uses = 0;
    e->alone = e->n_uses > 0 && (is_own || (tx_first < 0 && e->locks));
    e->held = e->n_uses > 0 && e->locks && !e->alone;
    if (old != NULL && old->end_seq == e->seq)
        take_end(s, e, old);
    if (old != NULL && (e->ends || tx_first != old->first_seq)) {
        if (!e->ends && tx_first >= 0 && has_locks(old)) {
            old->dropped = 1;
            at(s, e->lo_ns, TX_ENDS, NULL, old);
        }
        if (e->ends || tx_first >= 0) {
            finish(s, old);
            session->tx = old = NULL;
        }
    }
    if (tx_first >= 0 && tx_end != e->seq) {
        if (session->tx == NULL)
            session->tx = qt_sweep_new_tx(s, tx_first, tx_end);
        tx = session->tx;
        if (tx == NULL)
            return;
    }
    if (e->n_uses > 0)
        take_uses(s, e, tx, is_read);
    qt_sweep_event_done(s, e);
}

/* The tape has ended: so have all moments, and transactions whose end is not on it. */
void qt_sweep_end(struct qt_sweep *s)
{
    qt_sweep_moments_until(s, INT64_MAX);
    for (size_t i = 0; i < s->session_room; i++) {
        struct qt_tx *tx = s->session[i].tx;
        if (tx == NULL)
            continue;
        tx->dropped = 1;
        tx_ends(s, tx, INT64_MAX);
        finish(s, tx);
        s->session[i].tx = NULL;
    }
}

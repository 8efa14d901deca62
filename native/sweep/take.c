/* SPDX-License-Identifier: Apache-2.0 */
/* Takes events one after the other, and determines their kind and their waits. The comments refer to the rules by
 * number. */
#include "sweep/take.h"

#include "sweep/moments.h"
#include "sweep/numbers.h"
#include "sweep/rows.h"
#include "sweep/transactions.h"

/* Rule 2: the commit of a transaction. */
static void take_commit(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    int32_t least = INT32_MAX;
    if (!qt_sweep_has_locks(tx))
        return;
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].held) {
            qt_sweep_mark(s, e, tx->used[i].table, QT_COMMITS, e->lo_ns, 1);
            least = tx->used[i].table < least ? tx->used[i].table : least;
        }
    if (s->unknown)
        qt_sweep_mark(s, e, QT_TABLE_ALL, QT_COMMITS, e->lo_ns, 1);
    if (least > QT_TABLE_UNKNOWN)
        qt_sweep_wait_unknown(s, e, e->lo_ns - 1);
    qt_sweep_at(s, e->lo_ns, QT_TX_ENDS, NULL, tx);
}

/* Rule 12: a statement with an implicit commit is two events: a COMMIT and the statement itself. */
static void take_end(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    struct qt_event *commit;
    if (e->n_uses == 0) {
        take_commit(s, e, tx);
        return;
    }
    commit = qt_sweep_new_event(s, e);
    if (commit == NULL)
        return;
    commit->whole = e;
    e->commit = commit;
    e->part = 1;
    e->left++;
    take_commit(s, commit, tx);
    qt_sweep_event_done(s, commit);
}

/* Rules 3 and 4: a write outside of transactions. */
static void take_own(struct qt_sweep *s, struct qt_event *e)
{
    int64_t from = s->times == QT_ARRIVALS ? e->at_ns : e->lo_ns;
    e->left++; /* the row waits until the event's moment is decided */
    e->moment_ns = s->times == QT_ARRIVALS ? e->at_ns : e->hi_ns;
    if (e->hi_ns <= from && !e->is_last) { /* no point can be strictly between */
        qt_sweep_decide(s, e);
        return;
    }
    qt_sweep_at(s, from, s->times == QT_ARRIVALS ? QT_OWN_ARRIVES : QT_OPENS, e, NULL);
    qt_sweep_at(s, e->is_last ? from + QT_LAST_NS : e->hi_ns, e->exclusive ? QT_WHOLE_ENDS : QT_OWN_ENDS, e, NULL);
}

static void at_locks(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    if (s->times == QT_ARRIVALS)
        qt_sweep_at(s, e->lo_ns, QT_OPENS, e, tx);
    else
        qt_sweep_at(s, e->hi_ns, QT_LOCKS_TAKEN, e, tx);
}

/* Rules 5 and 7: a locking statement of a transaction. */
static void take_held(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    int adds = 0, marks_locks = 0;
    tx->whole |= e->exclusive;
    if (!e->is_long)
        qt_sweep_wait_all(s, e, e->hi_ns - 1);
    for (int32_t i = 0; i < e->n_uses; i++) {
        const struct qt_use *use = &e->uses[i];
        adds |= use->adds && !e->exclusive;
        if (s->table[use->table].is_long || s->table[QT_TABLE_UNKNOWN].is_long || s->table[use->table].is_exclusive) {
            qt_sweep_mark(s, e, use->table, QT_LOCKS, e->hi_ns, 0);
            marks_locks = 1;
        }
    }
    if (marks_locks && s->unknown)
        qt_sweep_mark(s, e, QT_TABLE_ALL, QT_LOCKS, e->hi_ns, 0);
    if (adds)
        qt_sweep_grant(s, e);
    at_locks(s, e, tx);
}

/* Rule 11: if another session locks a whole table, a read of this table also holds a lock. In a transaction the lock
 * lasts until the transaction's end. */
static void take_shared(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx)
{
    int shares = 0;
    for (int32_t i = 0; i < e->n_uses; i++) {
        int32_t table = e->uses[i].table;
        if (!s->table[table].is_exclusive)
            continue;
        qt_sweep_mark(s, e, table, QT_LOCKS, e->hi_ns, 0);
        if (tx != NULL)
            qt_sweep_wait(s, e, table, QT_COMMITS, e->hi_ns - 1);
        shares = 1;
    }
    if (shares && s->unknown)
        qt_sweep_mark(s, e, QT_TABLE_ALL, QT_LOCKS, e->hi_ns, 0);
    if (shares && tx != NULL)
        at_locks(s, e, tx);
}

/* Rule 6: a statement that takes no locks. */
static void take_read(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx, int is_read)
{
    int64_t until = e->lo_ns;
    if (s->times == QT_ENDS && e->at_ns > until)
        until = e->at_ns;
    if (until > e->hi_ns - 1)
        until = e->hi_ns - 1;
    for (int32_t i = 0; i < e->n_uses; i++)
        qt_sweep_read(s, e, e->uses[i].table, until);
    if (tx != NULL && is_read && tx->reader == NULL) {
        e->left++; /* the row waits until all tables of the transaction are known */
        tx->reader = e;
        qt_sweep_look(s, tx, until, e->hi_ns - 1);
    }
}

/* Rule 10: user-level locks. A GET_LOCK comes after all locks that were taken or released before it got its lock. */
static void take_user_lock(struct qt_sweep *s, struct qt_event *e)
{
    int64_t ns = e->user_lock & QT_USE_TAKES_LOCK ? e->hi_ns : e->lo_ns;
    if (e->user_lock & (QT_USE_TAKES_LOCK | QT_USE_FREES_LOCK))
        qt_sweep_mark(s, e, QT_TABLE_USER_LOCKS, QT_COMMITS, ns, 0);
    qt_sweep_wait(s, e, QT_TABLE_USER_LOCKS, QT_COMMITS, ns - 1);
}

static void take_uses(struct qt_sweep *s, struct qt_event *e, struct qt_tx *tx, int is_read)
{
    if (e->is_long && (e->alone || e->held))
        qt_sweep_slow(s, e);
    if (tx != NULL)
        qt_sweep_note_tables(s, tx, e);
    if (e->alone) {
        take_own(s, e);
    } else if (e->held) {
        take_held(s, e, tx);
    } else {
        take_read(s, e, tx, is_read);
        take_shared(s, e, tx);
    }
}

void qt_sweep_take(struct qt_sweep *s, const struct qt_event *event, int64_t tx_first, int64_t tx_end, int is_own,
                   int is_read)
{
    struct qt_sweep_session *session = qt_sweep_session(s, event->session);
    struct qt_event *e = qt_sweep_new_event(s, event);
    struct qt_tx *old, *tx = NULL;
    int ends;

    if (session == NULL || e == NULL)
        return;
    old = session->tx;
    if (tx_first >= 0 && tx_end == e->seq) /* rule 1: the event only ends the transaction */
        e->n_uses = 0;
    e->alone = e->n_uses > 0 && (is_own || (tx_first < 0 && e->locks));
    e->held = e->n_uses > 0 && e->locks && !e->alone;
    ends = old != NULL && old->end_seq == e->seq;
    if (ends)
        take_end(s, e, old);
    if (old != NULL && (ends || tx_first != old->first_seq)) {
        if (!ends && tx_first >= 0 && qt_sweep_has_locks(old)) {
            old->dropped = 1;
            qt_sweep_at(s, e->lo_ns, QT_TX_ENDS, NULL, old);
        }
        if (ends || tx_first >= 0) {
            qt_sweep_finish(s, old);
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
    if (e->user_lock)
        take_user_lock(s, e);
    qt_sweep_event_done(s, e);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/transactions.h"

#include <stdlib.h>

#include "sweep/rows.h"

struct qt_tx *qt_sweep_new_tx(struct qt_sweep *s, int64_t first_seq, int64_t end_seq)
{
    struct qt_tx *tx = calloc(1, sizeof *tx);
    if (tx == NULL) {
        s->failed = 1;
        return NULL;
    }
    tx->first_seq = first_seq;
    tx->end_seq = end_seq;
    tx->refs = 1;
    tx->noted.list = -1;
    tx->next = s->transactions;
    if (tx->next != NULL)
        tx->next->previous = tx;
    s->transactions = tx;
    return tx;
}

static void free_tx(struct qt_tx *tx)
{
    free(tx->used);
    free(tx->seen);
    free(tx->locked);
    free(tx->waiting);
    free(tx);
}

void qt_sweep_tx_release(struct qt_sweep *s, struct qt_tx *tx)
{
    if (--tx->refs > 0)
        return;
    *(tx->previous != NULL ? &tx->previous->next : &s->transactions) = tx->next;
    if (tx->next != NULL)
        tx->next->previous = tx->previous;
    free_tx(tx);
}

static size_t slot_of(const struct qt_sweep *s, int64_t id)
{
    size_t at = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & (s->session_room - 1);
    while (s->session[at].taken && s->session[at].id != id)
        at = (at + 1) & (s->session_room - 1);
    return at;
}

/* Doubles the session table. Returns 0 when out of memory. */
static int more_sessions(struct qt_sweep *s)
{
    struct qt_sweep_session *old = s->session;
    size_t old_room = s->session_room, room = old_room > 0 ? old_room * 2 : 1024;
    struct qt_sweep_session *larger = calloc(room, sizeof *larger);
    if (larger == NULL)
        return 0;
    s->session = larger;
    s->session_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].taken)
            larger[slot_of(s, old[i].id)] = old[i];
    free(old);
    return 1;
}

struct qt_sweep_session *qt_sweep_session(struct qt_sweep *s, int64_t id)
{
    struct qt_sweep_session *found;
    if (2 * s->n_sessions >= s->session_room && !more_sessions(s)) {
        s->failed = 1;
        return NULL;
    }
    found = &s->session[slot_of(s, id)];
    if (!found->taken) {
        *found = (struct qt_sweep_session){.id = id, .taken = 1};
        s->n_sessions++;
    }
    return found;
}

static void later(struct qt_sweep *s, struct qt_event *e, int32_t table, const int64_t *numbers)
{
    qt_sweep_add(s, &e->waits, table == QT_TABLE_UNKNOWN ? QT_TABLE_ALL : table, QT_COMMITS,
                 numbers[table == QT_TABLE_UNKNOWN ? QT_TABLE_ALL : table]);
    if (table != QT_TABLE_UNKNOWN && s->unknown)
        qt_sweep_add(s, &e->waits, QT_TABLE_UNKNOWN, QT_COMMITS, numbers[QT_TABLE_UNKNOWN]);
}

void qt_sweep_settle_reader(struct qt_sweep *s, struct qt_tx *tx)
{
    struct qt_event *e = tx->reader;
    if (e == NULL || !tx->over || tx->seen == NULL || tx->locked == NULL)
        return;
    for (size_t i = 0; i < tx->n_used; i++) {
        if (tx->used[i].read_later)
            later(s, e, tx->used[i].table, tx->seen);
        if (tx->used[i].locked_later)
            later(s, e, tx->used[i].table, tx->locked);
    }
    tx->reader = NULL;
    qt_sweep_event_done(s, e);
}

static struct qt_used *used_of(struct qt_sweep *s, struct qt_tx *tx, int32_t table)
{
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].table == table)
            return &tx->used[i];
    tx->used = qt_sweep_grown(s, tx->used, &tx->used_room, tx->n_used, sizeof *tx->used);
    if (tx->n_used == tx->used_room)
        return NULL;
    tx->used[tx->n_used] = (struct qt_used){.table = table, .hi_ns = INT64_MAX, .noted = {.list = -1}};
    return &tx->used[tx->n_used++];
}

int qt_sweep_has_locks(const struct qt_tx *tx)
{
    for (size_t i = 0; i < tx->n_used; i++)
        if (tx->used[i].held)
            return 1;
    return 0;
}

void qt_sweep_finish(struct qt_sweep *s, struct qt_tx *tx)
{
    tx->over = 1;
    qt_sweep_settle_reader(s, tx);
    qt_sweep_tx_release(s, tx);
}

void qt_sweep_note_tables(struct qt_sweep *s, struct qt_tx *tx, const struct qt_event *e)
{
    for (int32_t i = 0; i < e->n_uses; i++) {
        struct qt_used *used = used_of(s, tx, e->uses[i].table);
        if (used == NULL)
            return;
        if (e->held || s->table[used->table].is_exclusive) {
            if (!e->uses[i].later && used->hi_ns > e->hi_ns)
                used->hi_ns = e->hi_ns;
            used->held = 1;
        }
        if (tx->reader != NULL) {
            used->read_later |= !e->locks;
            used->locked_later |= e->locks;
        }
    }
}

void qt_sweep_free_transactions(struct qt_sweep *s)
{
    while (s->transactions != NULL) {
        struct qt_tx *next = s->transactions->next;
        free_tx(s->transactions);
        s->transactions = next;
    }
    free(s->session);
}

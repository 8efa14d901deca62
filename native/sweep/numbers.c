/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers the marks of each place (a table and a kind) by their moments. Answers waits with these numbers.
 *
 *   numbers:  mark 1 ── mark 2 ── wait: 2 ── mark 3 ──►  the bound: no earlier point will come
 *   adds:     the same for places of statements that add rows. Their marks come later: a mark is known
 *             when all commits before the end of its statement have numbers (rule 7) */
#include "sweep/numbers.h"

#include <stdlib.h>

#include "sweep/rows.h"
#include "sweep/transactions.h"

enum type { MARK, SEEN, WAIT, READ, GRANT, LOOK_SEEN, LOOK_LOCKED };

static void add(struct qt_sweep *s, struct qt_heap *heap, struct qt_point point, struct qt_event *e)
{
    if (e != NULL) {
        point.event = e;
        point.lo_ns = e->lo_ns;
        point.session = e->session;
        point.seq = e->seq;
        point.part = e->part;
        e->left++;
    }
    if (point.tx != NULL)
        point.tx->refs++;
    if (qt_heap_add(heap, &point) != 0)
        s->failed = 1;
}

static struct qt_heap *heap_of(struct qt_sweep *s, enum qt_place_kind kind)
{
    return kind == QT_ADDS ? &s->adds : &s->numbers;
}

void qt_sweep_mark(struct qt_sweep *s, struct qt_event *e, int32_t table, enum qt_place_kind kind, int64_t ns,
                   int in_front)
{
    struct qt_point point = {.ns = ns, .type = MARK, .table = table, .kind = (uint8_t)kind};
    point.in_front = in_front && table != QT_TABLE_UNKNOWN;
    add(s, heap_of(s, kind), point, e);
}

/* Rule 9: an event with unknown tables waits for all commits. Every event waits for events with unknown tables. */
void qt_sweep_wait(struct qt_sweep *s, struct qt_event *e, int32_t table, enum qt_place_kind kind, int64_t until_ns)
{
    struct qt_point point = {.ns = until_ns, .type = WAIT, .kind = (uint8_t)kind};
    point.table = table == QT_TABLE_UNKNOWN ? QT_TABLE_ALL : table;
    if (kind != QT_ADDS || s->table[point.table].adds)
        add(s, heap_of(s, kind), point, e);
    if (table == QT_TABLE_UNKNOWN || !s->unknown)
        return;
    point.table = QT_TABLE_UNKNOWN;
    add(s, heap_of(s, kind), point, e);
}

void qt_sweep_wait_all(struct qt_sweep *s, struct qt_event *e, int64_t until_ns)
{
    for (int32_t i = 0; i < e->n_uses; i++) {
        const struct qt_use *use = &e->uses[i];
        qt_sweep_wait(s, e, use->table, QT_COMMITS, until_ns);
        if (e->held && !e->exclusive && use->asks && (e->is_long || !use->adds)) /* LOCK TABLES locks no rows */
            qt_sweep_wait(s, e, use->table, QT_ADDS, until_ns);
        if (e->is_long || e->exclusive) /* rules 8 and 11 */
            qt_sweep_wait(s, e, use->table, QT_LOCKS, until_ns);
    }
}

void qt_sweep_wait_unknown(struct qt_sweep *s, struct qt_event *e, int64_t until_ns)
{
    struct qt_point point = {.ns = until_ns, .type = WAIT, .kind = QT_COMMITS, .table = QT_TABLE_UNKNOWN};
    if (s->unknown)
        add(s, &s->numbers, point, e);
}

void qt_sweep_read(struct qt_sweep *s, struct qt_event *e, int32_t table, int64_t until_ns)
{
    struct qt_point point = {.ns = until_ns, .type = READ};
    point.table = table == QT_TABLE_UNKNOWN ? QT_TABLE_ALL : table;
    add(s, &s->numbers, point, e);
    if (table == QT_TABLE_UNKNOWN || !s->unknown)
        return;
    point.table = QT_TABLE_UNKNOWN;
    add(s, &s->numbers, point, e);
}

void qt_sweep_look(struct qt_sweep *s, struct qt_tx *tx, int64_t seen_ns, int64_t locked_ns)
{
    add(s, &s->numbers, (struct qt_point){.ns = seen_ns, .type = LOOK_SEEN, .tx = tx}, NULL);
    add(s, &s->numbers, (struct qt_point){.ns = locked_ns, .type = LOOK_LOCKED, .tx = tx}, NULL);
}

void qt_sweep_grant(struct qt_sweep *s, struct qt_event *e)
{
    qt_list_add(&s->adding, e);
    add(s, &s->numbers, (struct qt_point){.ns = e->hi_ns - 1, .type = GRANT}, e);
}

static void look(struct qt_sweep *s, struct qt_tx *tx, enum type type)
{
    int64_t *numbers = malloc((size_t)s->n_tables * sizeof *numbers);
    if (numbers == NULL) {
        s->failed = 1;
        return;
    }
    for (int32_t i = 0; i < s->n_tables; i++)
        numbers[i] = type == LOOK_SEEN ? s->table[i].seen : s->table[i].number[QT_COMMITS];
    *(type == LOOK_SEEN ? &tx->seen : &tx->locked) = numbers;
    qt_sweep_settle_reader(s, tx);
}

static void mark(struct qt_sweep *s, const struct qt_point *p)
{
    struct qt_sweep_table *t = &s->table[p->table];
    int64_t number = ++t->number[p->kind];
    qt_sweep_add(s, &p->event->marks, p->table, (enum qt_place_kind)p->kind, number);
    if (p->in_front)
        qt_sweep_add(s, &p->event->waits, p->table, (enum qt_place_kind)p->kind, number - 1);
    if (p->kind != QT_COMMITS)
        return;
    t->released_ns = p->ns;
    add(s, &s->numbers,
        (struct qt_point){
            .ns = s->times == QT_ARRIVALS ? p->ns : p->event->hi_ns, .type = SEEN, .table = p->table, .number = number},
        NULL);
}

/* Rule 7: the statement had its locks just after the last commit that it may have waited for. If several statements
 * waited for this commit, they got their locks in the order of their beginnings. */
static void grant(struct qt_sweep *s, struct qt_event *e)
{
    int64_t ns = s->times == QT_ARRIVALS ? e->at_ns : e->from_ns;
    for (int32_t i = 0; i < e->n_uses; i++) {
        int32_t table = e->uses[i].table;
        int64_t released = s->table[table == QT_TABLE_UNKNOWN ? QT_TABLE_ALL : table].released_ns;
        if (e->uses[i].adds && released + 1 > ns)
            ns = released + 1;
        if (e->uses[i].adds && s->unknown && s->table[QT_TABLE_UNKNOWN].released_ns + 1 > ns)
            ns = s->table[QT_TABLE_UNKNOWN].released_ns + 1;
    }
    if (ns > e->hi_ns)
        ns = e->hi_ns;
    for (int32_t i = 0; i < e->n_uses; i++) {
        const struct qt_use *use = &e->uses[i];
        if (use->adds)
            qt_sweep_mark(s, e, use->table, QT_ADDS, ns, use->asks && !e->is_long);
        if (use->adds && use->asks && !e->is_long)
            qt_sweep_wait(s, e, use->table, QT_ADDS, ns - 1);
    }
    if (s->unknown)
        qt_sweep_mark(s, e, QT_TABLE_ALL, QT_ADDS, ns, 0);
    qt_list_remove(&s->adding, e);
}

static void answer(struct qt_sweep *s, const struct qt_point *p)
{
    struct qt_sweep_table *t = &s->table[p->table];
    switch ((enum type)p->type) {
    case MARK:
        mark(s, p);
        break;
    case SEEN:
        t->seen = p->number > t->seen ? p->number : t->seen;
        break;
    case WAIT:
        qt_sweep_add(s, &p->event->waits, p->table, (enum qt_place_kind)p->kind, t->number[p->kind]);
        break;
    case READ:
        qt_sweep_add(s, &p->event->waits, p->table, QT_COMMITS, t->seen);
        break;
    case GRANT:
        grant(s, p->event);
        break;
    case LOOK_SEEN:
    case LOOK_LOCKED:
        look(s, p->tx, (enum type)p->type);
        break;
    }
    if (p->event != NULL)
        qt_sweep_event_done(s, p->event);
    if (p->tx != NULL)
        qt_sweep_tx_release(s, p->tx);
}

static void answer_until(struct qt_sweep *s, struct qt_heap *heap, int64_t ns)
{
    while (heap->n > 0 && heap->point[0].ns < ns && !s->failed) {
        struct qt_point point = qt_heap_take(heap);
        answer(s, &point);
    }
}

void qt_sweep_number_until(struct qt_sweep *s, int64_t ns)
{
    answer_until(s, &s->numbers, ns);
    if (s->adding.first != NULL && s->adding.first->lo_ns - 1 < ns)
        ns = s->adding.first->lo_ns - 1;
    answer_until(s, &s->adds, ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/rows.h"

#include <stdlib.h>

void *qt_sweep_grown(struct qt_sweep *s, void *old, size_t *room, size_t n, size_t size)
{
    void *larger;
    if (n < *room)
        return old;
    larger = realloc(old, (*room > 0 ? *room * 2 : 4) * size);
    if (larger == NULL) {
        s->failed = 1;
        return old;
    }
    *room = *room > 0 ? *room * 2 : 4;
    return larger;
}

void qt_list_add(struct qt_list *list, struct qt_event *e)
{
    e->before = list->last;
    e->after = NULL;
    *(list->last != NULL ? &list->last->after : &list->first) = e;
    list->last = e;
}

void qt_list_remove(struct qt_list *list, struct qt_event *e)
{
    *(e->before != NULL ? &e->before->after : &list->first) = e->after;
    *(e->after != NULL ? &e->after->before : &list->last) = e->before;
}

/* Allocates a block of events. Blocks are kept until the end of the sweep. */
static int more_events(struct qt_sweep *s)
{
    struct qt_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return 0;
    block->next = s->blocks;
    s->blocks = block;
    for (size_t i = 0; i < QT_BLOCK_EVENTS; i++) {
        block->event[i].after = s->free_events;
        s->free_events = &block->event[i];
    }
    return 1;
}

struct qt_event *qt_sweep_new_event(struct qt_sweep *s, const struct qt_event *from)
{
    struct qt_event *e;
    struct qt_pairs waits, marks;
    if (s->free_events == NULL && !more_events(s)) {
        s->failed = 1;
        return NULL;
    }
    e = s->free_events;
    s->free_events = e->after;
    waits = e->waits;
    marks = e->marks;
    *e = *from;
    e->waits = waits;
    e->marks = marks;
    e->waits.n = e->marks.n = 0;
    e->left = 1;
    return e;
}

void qt_sweep_add(struct qt_sweep *s, struct qt_pairs *pairs, int32_t table, enum qt_place_kind kind, int64_t number)
{
    pairs->pair = qt_sweep_grown(s, pairs->pair, &pairs->room, pairs->n, sizeof *pairs->pair);
    if (pairs->n < pairs->room)
        pairs->pair[pairs->n++] = (struct qt_pair){QT_PLACES * table + (int32_t)kind, number};
}

static int by_place(const void *left, const void *right)
{
    const struct qt_pair *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Keeps only the highest number of each place (a table and a kind). */
static void keep_highest(struct qt_pairs *pairs)
{
    size_t n = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        if (pairs->pair[i].number <= 0 || (i + 1 < pairs->n && pairs->pair[i + 1].place == pairs->pair[i].place))
            continue;
        pairs->pair[n++] = pairs->pair[i];
    }
    pairs->n = n;
}

static char *write_number(char *to, int64_t number)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static char *write_pairs(const struct qt_pairs *pairs, char *to)
{
    for (size_t i = 0; i < pairs->n; i++) {
        if (i > 0)
            *to++ = ' ';
        to = write_number(to, pairs->pair[i].place);
        *to++ = ':';
        to = write_number(to, pairs->pair[i].number);
    }
    return to;
}

/* Sorts the event's pairs and drops duplicate waits. Returns the number of remaining pairs. */
static size_t sort_pairs(struct qt_event *e)
{
    if (e->waits.n > 1)
        qsort(e->waits.pair, e->waits.n, sizeof *e->waits.pair, by_place);
    keep_highest(&e->waits);
    if (e->marks.n > 1)
        qsort(e->marks.pair, e->marks.n, sizeof *e->marks.pair, by_place);
    return e->waits.n + e->marks.n;
}

static char *write_part(const struct qt_event *e, char *to)
{
    to = write_pairs(&e->waits, to);
    if (e->marks.n > 0)
        *to++ = ';';
    return write_pairs(&e->marks, to);
}

static void write_row(struct qt_sweep *s, struct qt_event *e)
{
    enum { PAIR_CHARS = 32, MARKS_OF_PARTS = 4 };
    size_t in_front = e->commit != NULL ? sort_pairs(e->commit) : 0, room = in_front + sort_pairs(e);
    char small[1024], *text = small, *end;

    if (room == 0)
        return;
    room = room * PAIR_CHARS + MARKS_OF_PARTS;
    if (room > sizeof small)
        text = malloc(room);
    if (text == NULL) {
        s->failed = 1;
        return;
    }
    end = text;
    if (in_front > 0) {
        end = write_part(e->commit, end);
        *end++ = '|';
    }
    end = write_part(e, end);
    qt_col_i64(&s->rows->col[0], e->session);
    qt_col_i64(&s->rows->col[1], e->seq);
    qt_col_i64(&s->rows->col[2], e->tape_ns);
    qt_col_bytes(&s->rows->col[3], text, (size_t)(end - text));
    if (text != small)
        free(text);
}

static void free_event(struct qt_sweep *s, struct qt_event *e)
{
    e->after = s->free_events;
    s->free_events = e;
}

void qt_sweep_event_done(struct qt_sweep *s, struct qt_event *e)
{
    if (--e->left > 0)
        return;
    if (e->whole != NULL) {
        qt_sweep_event_done(s, e->whole);
        return;
    }
    write_row(s, e);
    if (e->commit != NULL)
        free_event(s, e->commit);
    free_event(s, e);
}

void qt_sweep_clear(struct qt_sweep *s)
{
    while (s->blocks != NULL) {
        struct qt_block *next = s->blocks->next;
        for (size_t i = 0; i < QT_BLOCK_EVENTS; i++) {
            free(s->blocks->event[i].waits.pair);
            free(s->blocks->event[i].marks.pair);
        }
        free(s->blocks);
        s->blocks = next;
    }
    for (int32_t i = 0; i < s->n_tables; i++) {
        free(s->table[i].held_ns);
        free(s->table[i].holder);
        free(s->table[i].open);
    }
    free(s->table);
    free(s->slow);
    qt_heap_free(&s->moments);
    qt_heap_free(&s->numbers);
    qt_heap_free(&s->adds);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/heap.h"

#include <stdlib.h>

static int is_before(const struct qt_point *a, const struct qt_point *b)
{
    if (a->ns != b->ns)
        return a->ns < b->ns;
    if (a->type != b->type)
        return a->type < b->type;
    if (a->lo_ns != b->lo_ns)
        return a->lo_ns < b->lo_ns;
    if (a->session != b->session)
        return a->session < b->session;
    if (a->seq != b->seq)
        return a->seq < b->seq;
    return a->part < b->part;
}

int qt_heap_add(struct qt_heap *h, const struct qt_point *point)
{
    size_t at = h->n;
    if (h->n == h->room) {
        size_t room = h->room > 0 ? h->room * 2 : 256;
        struct qt_point *larger = realloc(h->point, room * sizeof *larger);
        if (larger == NULL)
            return -1;
        h->point = larger;
        h->room = room;
    }
    h->n++;
    for (; at > 0 && is_before(point, &h->point[(at - 1) / 2]); at = (at - 1) / 2)
        h->point[at] = h->point[(at - 1) / 2];
    h->point[at] = *point;
    return 0;
}

struct qt_point qt_heap_take(struct qt_heap *h)
{
    struct qt_point first = h->point[0], last = h->point[--h->n];
    size_t at = 0;
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= h->n)
            break;
        child += child + 1 < h->n && is_before(&h->point[child + 1], &h->point[child]);
        if (!is_before(&h->point[child], &last))
            break;
        h->point[at] = h->point[child];
        at = child;
    }
    if (h->n > 0)
        h->point[at] = last;
    return first;
}

void qt_heap_free(struct qt_heap *h)
{
    free(h->point);
    *h = (struct qt_heap){0};
}

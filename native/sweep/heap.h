/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of points in time with the earliest on top. The user owns the struct. qt_heap_free frees its memory. */
#ifndef QT_SWEEP_HEAP_H
#define QT_SWEEP_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct qt_event;
struct qt_tx;

struct qt_point {
    int64_t ns;
    int64_t lo_ns, session, seq; /* fields of the event; they order marks at the same moment */
    int64_t number;              /* number of a commit that has ended */
    struct qt_event *event;
    struct qt_tx *tx;
    int32_t table;
    uint8_t type, kind, in_front; /* type: at the same moment the lowest type comes first */
    uint8_t part;                 /* part of the event */
};

struct qt_heap {
    struct qt_point *point;
    size_t n, room;
};

int qt_heap_add(struct qt_heap *, const struct qt_point *); /* -1 = out of memory */
struct qt_point qt_heap_take(struct qt_heap *);             /* the heap must not be empty */
void qt_heap_free(struct qt_heap *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time, the first on top. Its user owns the struct, qt_heap_free its memory. */
#ifndef QT_SWEEP_HEAP_H
#define QT_SWEEP_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct qt_event;
struct qt_tx;

struct qt_point {
    int64_t ns;
    int64_t lo_ns, session, seq; /* of its event: the order of marks at one moment */
    int64_t number;              /* of a commit that was seen */
    struct qt_event *event;
    struct qt_tx *tx;
    int32_t table;
    uint8_t type, kind, in_front; /* type: of points at one moment the lowest comes first */
    uint8_t part;                 /* of its event */
};

struct qt_heap {
    struct qt_point *point;
    size_t n, room;
};

int qt_heap_add(struct qt_heap *, const struct qt_point *); /* -1 = out of memory */
struct qt_point qt_heap_take(struct qt_heap *);             /* of one that is not empty */
void qt_heap_free(struct qt_heap *);

#endif

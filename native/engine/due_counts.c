/* SPDX-License-Identifier: Apache-2.0 */
/* Events by when they are due, in buckets of equal width. A time behind the last bucket makes all of them twice as
 * wide:
 *
 *     |5|3|0|7|  ──►  | 8 | 7 |   |   |
 */
#include "engine/due_counts.h"

#include <stdlib.h>

#include "engine/pace.h"

enum { BUCKETS = 4096, FIRST_SHIFT = 20 }; /* at first a bucket is a millisecond wide */

struct qt_due_counts {
    pthread_mutex_t lock;
    int32_t shift;
    int64_t last_ns, all;
    int64_t count[BUCKETS];
};

struct qt_due_counts *qt_due_counts_new(void)
{
    struct qt_due_counts *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    pthread_mutex_init(&d->lock, NULL);
    d->shift = FIRST_SHIFT;
    return d;
}

void qt_due_counts_free(struct qt_due_counts *d)
{
    if (d == NULL)
        return;
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void widen(struct qt_due_counts *d)
{
    for (int i = 0; i < BUCKETS / 2; i++)
        d->count[i] = d->count[2 * i] + d->count[2 * i + 1];
    memset(d->count + BUCKETS / 2, 0, sizeof d->count / 2);
    d->shift++;
}

void qt_due_note(struct qt_due_counts *d, int64_t due_ns)
{
    int64_t ns = due_ns > 0 ? due_ns : 0;

    pthread_mutex_lock(&d->lock);
    while (ns >> d->shift >= BUCKETS)
        widen(d);
    d->count[ns >> d->shift]++;
    d->last_ns = ns > d->last_ns ? ns : d->last_ns;
    d->all++;
    pthread_mutex_unlock(&d->lock);
}

int64_t qt_due_by(struct qt_due_counts *d, int64_t plan_ns)
{
    int64_t due = 0, ns = plan_ns + 1, whole, begin, end; /* what is due at that very moment is due */

    if (plan_ns < 0)
        return 0;
    pthread_mutex_lock(&d->lock);
    if (ns > d->last_ns) {
        due = d->all;
    } else {
        whole = ns >> d->shift;
        for (int64_t i = 0; i < whole; i++)
            due += d->count[i];
        begin = whole << d->shift;
        end = begin + (INT64_C(1) << d->shift);
        end = end < d->last_ns + 1 ? end : d->last_ns + 1;
        due += (int64_t)((double)d->count[whole] * (double)(ns - begin) / (double)(end - begin));
    }
    pthread_mutex_unlock(&d->lock);
    return due;
}

int64_t qt_engine_due(struct qt_engine *e)
{
    if (e->options.pace != QT_PACE_SCHEDULE)
        return -1;
    if (atomic_load(&e->zero_ns) == 0)
        return 0;
    return qt_due_by(e->due_counts, qt_clock_to_plan(e, qt_now()));
}

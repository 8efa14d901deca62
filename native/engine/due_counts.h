/* SPDX-License-Identifier: Apache-2.0 */
/* How many of the events that were fed are due at some time of the plan, in bounded memory. */
#ifndef QT_DUE_COUNTS_H
#define QT_DUE_COUNTS_H

#include "engine/state.h"

struct qt_due_counts *qt_due_counts_new(void); /* NULL when out of memory; the caller frees it */
void qt_due_counts_free(struct qt_due_counts *);

/* Any thread. Times are from the run's zero. */
void qt_due_note(struct qt_due_counts *, int64_t due_ns);
/* How many of those noted are due by then; within a bucket (a 2048th of the time until the last one, or less) it is
 * taken that they come evenly. */
int64_t qt_due_by(struct qt_due_counts *, int64_t plan_ns);

#endif

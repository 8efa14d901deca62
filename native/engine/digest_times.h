/* SPDX-License-Identifier: Apache-2.0 */
/* Which digests the target has spent most time on so far, in bounded memory. */
#ifndef QT_DIGEST_TIMES_H
#define QT_DIGEST_TIMES_H

#include "engine/engine_state.h"

struct qt_digest_times *qt_digest_times_new(void); /* NULL when out of memory; the caller frees it */
void qt_digest_times_free(struct qt_digest_times *);

/* A digest's 16 hex digits as a number; 0 where the text is not such, which stands for no digest. */
uint64_t qt_digest_number(const char *text, size_t len);
/* Any thread: notes the records of one chunk that were answered and have a digest. */
void qt_digest_times_note(struct qt_digest_times *, const struct qt_record *, int32_t n);

#endif

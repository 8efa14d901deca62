/* SPDX-License-Identifier: Apache-2.0 */
/* The digests with the most time on the target so far, in bounded memory. */
#ifndef QT_DIGEST_TIMES_H
#define QT_DIGEST_TIMES_H

#include "engine/engine_state.h"

struct qt_digest_times *qt_digest_times_new(void); /* NULL when out of memory; the caller frees it */
void qt_digest_times_free(struct qt_digest_times *);

/* Converts a digest of 16 hex digits to a number. Returns 0 (no digest) for any other text. */
uint64_t qt_digest_number(const char *text, size_t len);
/* Adds the records in one chunk of `n` records. Records without an answer or a digest are skipped. Any thread may call
 * it. */
void qt_digest_times_note(struct qt_digest_times *, const struct qt_record *, int32_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of the text are kept. The whole text is hashed with XXH3. Each window is hashed when it is
 * discarded. */
#define XXH_INLINE_ALL
#include "sql/text.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct qt_text_hash {
    XXH3_state_t state; /* aligned to 64 bytes */
};

int qt_text_new(struct qt_text *t)
{
    t->p = malloc(QT_TEXT_KEPT + QT_TEXT_WINDOW);
    t->hash = aligned_alloc(64, (sizeof *t->hash + 63) / 64 * 64);
    if (t->p == NULL || t->hash == NULL) {
        qt_text_free(t);
        return -1;
    }
    qt_text_begin(t);
    return 0;
}

void qt_text_free(struct qt_text *t)
{
    free(t->p);
    free(t->hash);
    t->p = NULL;
    t->hash = NULL;
}

void qt_text_begin(struct qt_text *t)
{
    t->len = 0;
    t->folded = 0;
}

size_t qt_text_fold(struct qt_text *t)
{
    size_t from = t->folded ? QT_TEXT_KEPT : 0, to = t->len - QT_TEXT_BACK;
    if (!t->folded)
        XXH3_64bits_reset(&t->hash->state);
    XXH3_64bits_update(&t->hash->state, t->p + from, to - from);
    memmove(t->p + QT_TEXT_KEPT, t->p + to, QT_TEXT_BACK);
    t->folded = 1;
    t->len = QT_TEXT_KEPT + QT_TEXT_BACK;
    return to - QT_TEXT_KEPT;
}

uint64_t qt_text_digest(struct qt_text *t, size_t *kept)
{
    *kept = t->len < QT_TEXT_KEPT ? t->len : QT_TEXT_KEPT;
    if (!t->folded)
        return XXH3_64bits(t->p, t->len);
    XXH3_64bits_update(&t->hash->state, t->p + QT_TEXT_KEPT, t->len - QT_TEXT_KEPT);
    return XXH3_64bits_digest(&t->hash->state);
}

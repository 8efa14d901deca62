/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps and hashes a normalized text. The first 64 KiB are kept, and the whole text is hashed. The last few bytes can
 * be removed again.
 *
 *   [ kept ......................... | window ............. ]
 *                                      hashed and discarded when full, except for its last QT_TEXT_BACK bytes */
#ifndef QT_TEXT_H
#define QT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define QT_TEXT_KEPT ((size_t)64 << 10)
#define QT_TEXT_WINDOW ((size_t)16 << 10)
#define QT_TEXT_PIECE ((size_t)4 << 10) /* maximum number of bytes written between two calls of qt_text_room */
#define QT_TEXT_BACK ((size_t)64)

struct qt_text_hash;

struct qt_text {
    char *p;
    size_t len;
    struct qt_text_hash *hash;
    int folded; /* some bytes were discarded */
};

int qt_text_new(struct qt_text *); /* 0, or -1 when out of memory */
void qt_text_free(struct qt_text *);
void qt_text_begin(struct qt_text *);
/* Discards the bytes that need not be kept. Returns the number of bytes by which positions in the text decreased. */
size_t qt_text_fold(struct qt_text *);
uint64_t qt_text_digest(struct qt_text *, size_t *kept);

/* Makes room for at least QT_TEXT_PIECE bytes and 8 spare bytes. Call it before each write. */
static inline size_t qt_text_room(struct qt_text *t)
{
    return t->len < QT_TEXT_KEPT + QT_TEXT_WINDOW - QT_TEXT_PIECE - 16 ? 0 : qt_text_fold(t);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps and hashes a normalised text: its first 64 KiB are kept, all of it is hashed, the last few bytes can be taken
 * back.
 *
 *   [ kept ......................... | window ............. ]
 *                                      hashed and thrown away when it is full, but for its last QT_TEXT_BACK bytes
 */
#ifndef QT_TEXT_H
#define QT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define QT_TEXT_KEPT ((size_t)64 << 10)
#define QT_TEXT_WINDOW ((size_t)16 << 10)
#define QT_TEXT_PIECE ((size_t)4 << 10) /* at most this much is written between two calls of qt_text_room */
#define QT_TEXT_BACK ((size_t)64)

struct qt_text_hash;

struct qt_text {
    char *p;
    size_t len;
    struct qt_text_hash *hash;
    int folded; /* something was thrown away */
};

int qt_text_new(struct qt_text *); /* 0, or -1 when out of memory */
void qt_text_free(struct qt_text *);
void qt_text_begin(struct qt_text *);
/* Throws away what need not be kept; returns by how many bytes positions in the text went down. */
size_t qt_text_fold(struct qt_text *);
uint64_t qt_text_digest(struct qt_text *, size_t *kept);

/* Call before writing: at least QT_TEXT_PIECE bytes, and 8 more that need not be used, are free then. */
static inline size_t qt_text_room(struct qt_text *t)
{
    return t->len < QT_TEXT_KEPT + QT_TEXT_WINDOW - QT_TEXT_PIECE - 16 ? 0 : qt_text_fold(t);
}

#endif

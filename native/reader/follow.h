/* SPDX-License-Identifier: Apache-2.0 */
/* A log that is being written, followed by its name as `tail -F` does: renamed and begun again, removed and begun
 * again, copied and truncated, packed behind us. What an old file still gets is read through the open descriptor before
 * the new one. The parsing thread calls these, but for qt_follow_end and qt_follow_describe. */
#ifndef QT_FOLLOW_H
#define QT_FOLLOW_H

#include "base/json.h"
#include "querytape.h"

struct qt_follow;

enum qt_follow_read {
    QT_FOLLOW_FAILED = -1,
    QT_FOLLOW_NOTHING = 0, /* no byte for now */
    QT_FOLLOW_BYTES = 1,
    QT_FOLLOW_OTHER = 2,    /* this file is read to its end: another one has the name. qt_follow_take_next takes it */
    QT_FOLLOW_TRUNCATED = 3 /* it was truncated, and no copy says what had been written until then; as OTHER */
};

/* NULL where it can't be opened, or is packed: told in `error`. `from_end`: what the file holds already is skipped.
 */
struct qt_follow *qt_follow_open(const char *path, int from_end, struct qt_error *);
void qt_follow_close(struct qt_follow *); /* NULL is nothing */
/* Reads up to `size` bytes that were written since the last call. Never waits. */
enum qt_follow_read qt_follow_read(struct qt_follow *, char *out, size_t size, size_t *got, struct qt_error *);
/* After OTHER or TRUNCATED: goes on at the beginning of the file that has the name now. */
void qt_follow_take_next(struct qt_follow *);
/* Waits for more, for a twentieth of a second or until qt_follow_end. */
void qt_follow_wait(struct qt_follow *);
/* The input ends with what was written until now. From any thread. */
void qt_follow_end(struct qt_follow *);
int qt_follow_is_ending(const struct qt_follow *);
uint64_t qt_follow_bytes(const struct qt_follow *); /* read so far, of all its files */
/* Adds followed_bytes (of the file that has the name), rotations, truncations, truncations_without_copy,
 * read_from_copies. From any thread. */
void qt_follow_describe(const struct qt_follow *, struct qt_json *);

#endif

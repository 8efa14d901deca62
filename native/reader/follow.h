/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a growing log by its name, like `tail -F`. The log may be renamed, removed, or copied and truncated. A new
 * file then continues the log. Old files may be compressed while the log is followed. The rest of an old file is read
 * through the open descriptor before the new file.
 *
 * The parsing thread calls these functions. qt_follow_end and qt_follow_describe may be called from any thread. */
#ifndef QT_FOLLOW_H
#define QT_FOLLOW_H

#include "base/json.h"
#include "querytape.h"

struct qt_follow;

enum qt_follow_read {
    QT_FOLLOW_FAILED = -1,
    QT_FOLLOW_NOTHING = 0, /* no new bytes yet */
    QT_FOLLOW_BYTES = 1,
    QT_FOLLOW_OTHER = 2,    /* end of this file; the log's name belongs to another file: call qt_follow_take_next */
    QT_FOLLOW_TRUNCATED = 3 /* the log was truncated and no copy has the missing bytes: call qt_follow_take_next */
};

/* Opens a log to be followed. Returns NULL with `error` filled if the file cannot be opened or is compressed.
 * `from_end`: skip the existing content. */
struct qt_follow *qt_follow_open(const char *path, int from_end, struct qt_error *);
void qt_follow_close(struct qt_follow *); /* accepts NULL */
/* Reads up to `size` bytes that were written since the last call. Never blocks. */
enum qt_follow_read qt_follow_read(struct qt_follow *, char *out, size_t size, size_t *got, struct qt_error *);
/* Continues at the beginning of the file that has the log's name now. Call this after QT_FOLLOW_OTHER or
 * QT_FOLLOW_TRUNCATED. */
void qt_follow_take_next(struct qt_follow *);
/* Waits 1/20 second for new bytes, or until qt_follow_end. */
void qt_follow_wait(struct qt_follow *);
/* Ends the input at the bytes written so far. Any thread may call this function. */
void qt_follow_end(struct qt_follow *);
int qt_follow_is_ending(const struct qt_follow *);
uint64_t qt_follow_bytes(const struct qt_follow *); /* bytes read so far from all files of the log */
/* Adds rotations, truncations, truncations_without_copy, read_from_copies and followed_bytes (of the current file). Any
 * thread may call this function. */
void qt_follow_describe(const struct qt_follow *, struct qt_json *);

#endif

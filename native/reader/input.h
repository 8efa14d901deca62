/* SPDX-License-Identifier: Apache-2.0 */
/* A log file as a stream of bytes, whatever it is packed in: what readers need beyond querytape.h. */
#ifndef QT_INPUT_H
#define QT_INPUT_H

#include "querytape.h"

/* Reads up to `size` bytes; *got = 0 is the end. A damaged or cut archive is QT_EFORMAT, after all that was
 * readable. */
int qt_input_read(struct qt_input *, char *out, size_t size, size_t *got, struct qt_error *error);
/* Bytes taken from the file itself so far. */
uint64_t qt_input_stored_bytes(const struct qt_input *);
/* Checks that a regular file can be opened; what can be opened only once (a FIFO, a device) is left alone. */
int qt_input_check(const char *path, struct qt_error *);

/* The paths of a reader, and those of its inputs that were opened before. Zero at first. */
struct qt_inputs {
    char **paths;             /* owned */
    struct qt_input **opened; /* owned; NULL where the reader opens the path */
    int32_t n;
};

/* Copies the paths, and takes over `opened`, which may be NULL, in any case. 0, or -1 when out of memory. */
int qt_inputs_init(struct qt_inputs *, const char *const *paths, struct qt_input *const *opened, int32_t n);
/* Closes the opened inputs that are left. */
void qt_inputs_free(struct qt_inputs *);
/* The input of path number i that was opened before: it is the caller's from now on. NULL = none. */
struct qt_input *qt_inputs_take_opened(struct qt_inputs *, int32_t i);
/* The same, or the path is opened now. NULL with *error. */
struct qt_input *qt_inputs_take(struct qt_inputs *, int32_t i, struct qt_error *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Byte streams of possibly compressed log files. Extends the functions of querytape.h for readers. */
#ifndef QT_INPUT_H
#define QT_INPUT_H

#include "querytape.h"

/* Reads up to `size` bytes. `*got` is 0 at the end. If an archive is damaged or truncated, returns its readable bytes
 * first and then QT_EFORMAT. */
int qt_input_read(struct qt_input *, char *out, size_t size, size_t *got, struct qt_error *error);
/* Returns the number of bytes read from the file itself so far. */
uint64_t qt_input_stored_bytes(const struct qt_input *);
/* Checks that a regular file can be opened. Files that can be opened only once (FIFOs, devices) are not checked. */
int qt_input_check(const char *path, struct qt_error *);

/* The paths of a reader, and the inputs that the caller has already opened. Must be zeroed before the first use. */
struct qt_inputs {
    char **paths;             /* owned */
    struct qt_input **opened; /* owned; NULL = the reader opens the path */
    int32_t n;
};

/* Copies the paths. Takes ownership of the inputs in `opened`, also on failure. `opened` may be NULL. Returns 0, or -1
 * when out of memory. */
int qt_inputs_init(struct qt_inputs *, const char *const *paths, struct qt_input *const *opened, int32_t n);
/* Frees the paths and closes the remaining opened inputs. */
void qt_inputs_free(struct qt_inputs *);
/* Returns the already opened input of path i, which the caller then owns. Returns NULL if path i is not opened. */
struct qt_input *qt_inputs_take_opened(struct qt_inputs *, int32_t i);
/* Returns the already opened input of path i, or opens the path. The caller owns the result. Returns NULL with `error`
 * filled on failure. */
struct qt_input *qt_inputs_take(struct qt_inputs *, int32_t i, struct qt_error *);

#endif

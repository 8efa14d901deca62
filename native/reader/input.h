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
/* The opened inputs of a reader, one a path, NULL where the reader opens it: taken over from `opened`, which may be
 * NULL. NULL when out of memory: they are closed then. qt_inputs_free closes those that are left. */
struct qt_input **qt_inputs_take_over(struct qt_input *const *opened, int32_t n);
void qt_inputs_free(struct qt_input **, int32_t n); /* NULL is nothing */
/* The input of path number i: the one that is open, which is the caller's from now on, or opened now. */
struct qt_input *qt_inputs_take(struct qt_input **, int32_t i, const char *path, struct qt_error *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A log file as a stream of bytes, whatever it is packed in. */
#ifndef QT_INPUT_H
#define QT_INPUT_H

#include "querytape.h"

struct qt_input;

/* Opens a path ("-" is stdin) and looks at its magic. NULL with `error` filled where that fails. */
struct qt_input *qt_input_open(const char *path, struct qt_error *error);
/* Reads up to `size` bytes; *got = 0 is the end. A damaged or cut archive is QT_EFORMAT, after all that was readable. */
int qt_input_read(struct qt_input *, char *out, size_t size, size_t *got, struct qt_error *error);
/* Bytes taken from the file itself so far. */
uint64_t qt_input_stored_bytes(const struct qt_input *);
void qt_input_close(struct qt_input *);

#endif

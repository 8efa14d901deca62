/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an ArrowArrayStream of a function that gives the next batch. */
#ifndef QT_STREAM_H
#define QT_STREAM_H

#include "base/arrow_build.h"

struct qt_stream_source {
    const struct qt_column_spec *specs; /* must outlive the stream */
    int32_t n_specs;
    /* Fills *out; leaves it untouched (out->release stays NULL) at the end. Not called after an end or error. */
    int (*next)(void *self, struct ArrowArray *out, struct qt_error *);
    void (*close)(void *self); /* when the stream is released; may be NULL */
    void *self;
};

/* Does nothing but allocate. On QT_ENOMEM `close` is not called: self stays the caller's. */
int qt_stream_make(struct ArrowArrayStream *out, const struct qt_stream_source *, struct qt_error *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* An Arrow stream from two functions of ours. */
#ifndef QT_STREAM_H
#define QT_STREAM_H

#include "arrow_build.h"
#include "error.h"

struct qt_stream_source {
    void *owner;                         /* outlives the stream */
    const struct qt_column_spec *specs;  /* constant */
    size_t n_specs;
    /* Fills the next batch; leaves out->release NULL at the end. Returns enum qt_code. */
    int (*next)(void *owner, struct ArrowArray *out, struct qt_error *);
    void (*done)(void *owner);           /* the stream was released; may be NULL */
};

/* QT_OK or QT_ENOMEM. */
int qt_stream_make(const struct qt_stream_source *, struct ArrowArrayStream *out, struct qt_error *);

#endif

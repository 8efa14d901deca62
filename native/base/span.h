/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of somebody else's bytes. */
#ifndef QT_SPAN_H
#define QT_SPAN_H

#include <stddef.h>

struct qt_span {
    const char *p; /* NULL = absent */
    size_t len;
};

#endif

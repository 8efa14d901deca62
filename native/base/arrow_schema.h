/* SPDX-License-Identifier: Apache-2.0 */
/* The Arrow schema of batches with given columns. */
#ifndef QT_ARROW_SCHEMA_H
#define QT_ARROW_SCHEMA_H

#include "base/arrow_build.h"

/* Independent of any columns; `out` is the caller's, to be released. QT_ENOMEM. */
int qt_columns_schema(const struct qt_column_spec *specs, int32_t n, struct ArrowSchema *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's copy of its options. The engine owns every text in it. Only used before the start and after the end of a
 * run. */
#ifndef QT_OPTIONS_H
#define QT_OPTIONS_H

#include "engine/engine_state.h"

int qt_options_check(const struct qt_engine_options *, struct qt_error *); /* QT_EINVALID; err: the expected value */
int qt_options_copy(struct qt_engine *,
                    const struct qt_engine_options *); /* 0 when out of memory; qt_options_free frees a partial copy */
void qt_options_free(struct qt_engine *);

#endif

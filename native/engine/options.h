/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's copy of its options; the engine owns every text in it. Before the start and after the end alone. */
#ifndef QT_OPTIONS_H
#define QT_OPTIONS_H

#include "engine/engine_state.h"

int qt_options_check(const struct qt_engine_options *, struct qt_error *); /* QT_EINVALID says what was expected */
int qt_options_copy(struct qt_engine *,
                    const struct qt_engine_options *); /* 0 when out of memory; qt_options_free frees what there is */
void qt_options_free(struct qt_engine *);

#endif

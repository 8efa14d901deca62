/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons: =, <, IN, BETWEEN, LIKE, IS, ... */
#ifndef QT_GRAMMAR_PREDICATE_H
#define QT_GRAMMAR_PREDICATE_H

#include "grammar/grammar_state.h"

void qt_predicate(struct qt_grammar *, struct qt_side *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: which columns stand in them, and what they are compared with. */
#ifndef QT_GRAMMAR_EXPRESSION_H
#define QT_GRAMMAR_EXPRESSION_H

#include "grammar/grammar_state.h"

/* Any expression. Comparisons in it give roles where g->filtering. */
void qt_expression(struct qt_grammar *, struct qt_side *);
/* The condition of WHERE and ON: every column of it gets a role. */
void qt_condition(struct qt_grammar *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses expressions. Records the columns that they use and the values that the columns are compared with. */
#ifndef QT_GRAMMAR_EXPRESSION_H
#define QT_GRAMMAR_EXPRESSION_H

#include "grammar/grammar_state.h"

/* Parses any expression. If g->filtering is set, the expression's comparisons give roles to columns. */
void qt_expression(struct qt_grammar *, struct qt_side *);
/* Parses the condition of WHERE or ON. Every column in the condition gets a role. */
void qt_condition(struct qt_grammar *);

#endif

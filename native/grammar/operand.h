/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of comparisons: literals, columns, functions, parentheses, and arithmetic of them. */
#ifndef QT_GRAMMAR_OPERAND_H
#define QT_GRAMMAR_OPERAND_H

#include "grammar/grammar_state.h"

void qt_operand(struct qt_grammar *, struct qt_side *);  /* one: only `kind` is filled */
void qt_operands(struct qt_grammar *, struct qt_side *); /* with what arithmetic joins to it */
/* A column's name with its qualifiers; the index of the column, or -1 where it is none. */
int32_t qt_column_name(struct qt_grammar *);
/* Does a query begin here, in however many parentheses? */
int qt_query_ahead(const struct qt_grammar *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses operands of comparisons: literals, columns, functions, parentheses and arithmetic. */
#ifndef QT_GRAMMAR_OPERAND_H
#define QT_GRAMMAR_OPERAND_H

#include "grammar/grammar_state.h"

void qt_operand(struct qt_grammar *, struct qt_side *);  /* a single operand; sets only `kind` */
void qt_operands(struct qt_grammar *, struct qt_side *); /* an operand, or several joined by arithmetic */
/* Parses a column name with its qualifiers. Returns the column's index, or -1 if the text is not a column. */
int32_t qt_column_name(struct qt_grammar *);
/* Returns 1 if a query begins at the current token, even inside parentheses. */
int qt_query_ahead(const struct qt_grammar *);

#endif

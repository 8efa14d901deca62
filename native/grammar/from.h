/* SPDX-License-Identifier: Apache-2.0 */
/* Parses table references: the tables after FROM and UPDATE. */
#ifndef QT_GRAMMAR_FROM_H
#define QT_GRAMMAR_FROM_H

#include "grammar/grammar_state.h"

void qt_table_references(struct qt_grammar *);
/* Parses one table name without an alias. Returns the table's index, or -1. */
int32_t qt_table_name(struct qt_grammar *);
/* Parses the optional alias of a table, with or without AS. */
void qt_table_alias(struct qt_grammar *, int32_t table);
int32_t qt_open_scope(struct qt_grammar *, int32_t parent); /* makes the new scope current */

#endif

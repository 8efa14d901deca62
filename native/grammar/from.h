/* SPDX-License-Identifier: Apache-2.0 */
/* Table references: what stands behind FROM and UPDATE. */
#ifndef QT_GRAMMAR_FROM_H
#define QT_GRAMMAR_FROM_H

#include "grammar/grammar_state.h"

void qt_table_references(struct qt_grammar *);
/* One table's name, without an alias; its index, or -1. */
int32_t qt_table_name(struct qt_grammar *);
/* [AS] alias of a table. */
void qt_table_alias(struct qt_grammar *, int32_t table);
int32_t qt_open_scope(struct qt_grammar *, int32_t parent); /* and makes it the one at hand */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the table of each column after a statement is parsed. */
#ifndef QT_GRAMMAR_RESOLVE_H
#define QT_GRAMMAR_RESOLVE_H

#include "grammar/grammar_state.h"

#define QT_NO_TABLE (-1)      /* ambiguous: several tables may have this column */
#define QT_DERIVED_TABLE (-2) /* a subquery or a CTE */

/* Sets `table_at` of every column and `access` of every table. */
void qt_resolve(struct qt_grammar *);

#endif

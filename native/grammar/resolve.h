/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tables that columns are of, when a statement was parsed. */
#ifndef QT_GRAMMAR_RESOLVE_H
#define QT_GRAMMAR_RESOLVE_H

#include "grammar/grammar_state.h"

#define QT_NO_TABLE (-1)      /* several tables could have it: only the schema would tell */
#define QT_DERIVED_TABLE (-2) /* of a subquery or a name of WITH */

/* Fills table_at of every column, and access of every table. */
void qt_resolve(struct qt_grammar *);

#endif

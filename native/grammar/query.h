/* SPDX-License-Identifier: Apache-2.0 */
/* Parses queries: SELECT, UNION, WITH, VALUES, TABLE. */
#ifndef QT_GRAMMAR_QUERY_H
#define QT_GRAMMAR_QUERY_H

#include "grammar/grammar_state.h"

/* Parses a query with its WITH, UNION, ORDER BY, LIMIT and locking clauses. The caller consumes the parentheses around
 * a subquery. Restores the scope of the outer query. */
void qt_query(struct qt_grammar *);
void qt_with(struct qt_grammar *); /* Parses the definitions after WITH. */
/* Parses ORDER BY, LIMIT, OFFSET and FETCH if they follow. If `columns` is 0, ORDER BY gives columns no role. */
void qt_order_and_limit(struct qt_grammar *, int columns);
/* Parses a list of expressions and gives `role` to their columns. A column is `plain` if the expression is only this
 * column. */
void qt_role_list(struct qt_grammar *, int role);

#endif

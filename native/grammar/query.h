/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: SELECT, UNION, WITH, VALUES, TABLE. */
#ifndef QT_GRAMMAR_QUERY_H
#define QT_GRAMMAR_QUERY_H

#include "grammar/grammar_state.h"

/* A query with all that may stand around it but parentheses; nothing of it is seen from outside. */
void qt_query(struct qt_grammar *);
void qt_with(struct qt_grammar *); /* at WITH: its definitions */
/* ORDER BY and LIMIT, where they come; `columns` 0 = of no table's columns. */
void qt_order_and_limit(struct qt_grammar *, int columns);
/* A list of expressions; a column of each that is nothing else gets the role. */
void qt_role_list(struct qt_grammar *, int role);

#endif

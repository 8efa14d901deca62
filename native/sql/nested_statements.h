/* SPDX-License-Identifier: Apache-2.0 */
/* Statements inside literals: PREPARE s FROM '...', EXECUTE IMMEDIATE '...', SET @s = '...'. */
#ifndef QT_SQL_NESTED_STATEMENTS_H
#define QT_SQL_NESTED_STATEMENTS_H

#include "sql/sql_state.h"

/* Returns whether the statement in this literal carries a password or a key. Where it is what PREPARE or EXECUTE
 * IMMEDIATE runs, its dangers are theirs. `c` has read what is before it. */
int qt_read_inner(struct qt_classifier *c, const struct qt_keywords *, const struct qt_token *literal);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Statements inside literals: PREPARE s FROM '...', EXECUTE IMMEDIATE '...', SET @s = '...'. */
#ifndef QT_INNER_H
#define QT_INNER_H

#include "sql/state.h"

/* Does the statement in this literal carry a password or a key? `c` has read what is before it. */
int qt_secret_inner(const struct qt_classifier *c, const struct qt_keywords *, const struct qt_token *literal);

#endif

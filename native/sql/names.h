/* SPDX-License-Identifier: Apache-2.0 */
/* Compares names in statements with known names. */
#ifndef QT_SQL_NAMES_H
#define QT_SQL_NAMES_H

#include "sql/lexer.h"

/* Returns 1 if the token's name equals `name`, which is in lower case. Ignores case, quotes and @. */
int qt_name_is(const struct qt_token *, const char *name);
/* Returns 1 if the token's name is in the list, which ends with NULL. */
int qt_name_is_any(const struct qt_token *, const char *const *names);

#endif

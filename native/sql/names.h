/* SPDX-License-Identifier: Apache-2.0 */
/* Compares names in statements with names of ours. */
#ifndef QT_SQL_NAMES_H
#define QT_SQL_NAMES_H

#include "sql/lexer.h"

/* Is the token's name, in whatever quotes and with whatever @, this lower-case one? */
int qt_name_is(const struct qt_token *, const char *name);
/* Is it one of these, of which the last is NULL? */
int qt_name_is_any(const struct qt_token *, const char *const *names);

#endif

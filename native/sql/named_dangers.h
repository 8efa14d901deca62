/* SPDX-License-Identifier: Apache-2.0 */
/* Names that make any statement dangerous: names of variables that the statement sets, and of functions that it
 * calls. */
#ifndef QT_NAMED_DANGERS_H
#define QT_NAMED_DANGERS_H

#include "sql/sql_state.h"

/* Handles SET name =. The name is c->name. */
void qt_assigned(struct qt_classifier *);
/* Returns the danger of calling this function: enum qt_danger, or 0. Covers functions of the server's plugins and
 * components, and well-known functions that run programs. A read-only session does not stop these functions. */
int qt_server_function(const struct qt_token *name);

#endif

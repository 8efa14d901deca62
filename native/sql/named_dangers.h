/* SPDX-License-Identifier: Apache-2.0 */
/* Names that make a statement dangerous, whatever else is written: of variables that are set, of functions that are
 * called. */
#ifndef QT_NAMED_DANGERS_H
#define QT_NAMED_DANGERS_H

#include "sql/sql_state.h"

/* SET name = : c->name is the name. */
void qt_assigned(struct qt_classifier *);
/* The danger of calling this name: enum qt_danger, or 0. Functions of the server's plugins and components, and
 * well-known ones that run programs: a read-only session does not keep the server from running them. */
int qt_server_function(const struct qt_token *name);

#endif

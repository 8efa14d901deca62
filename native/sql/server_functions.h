/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that act on the server itself, whatever may be written: those of its plugins and components, and well-known
 * ones that run programs. A read-only session does not keep the server from running them. */
#ifndef QT_SERVER_FUNCTIONS_H
#define QT_SERVER_FUNCTIONS_H

#include "sql/lexer.h"

/* The danger of calling this name: enum qt_danger, or 0. */
int qt_server_function(const struct qt_token *name);

#endif

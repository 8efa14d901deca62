/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that a row is larger than what a session may hold: the library ends the connection then, as if lost. */
#ifndef QT_LARGE_ROWS_H
#define QT_LARGE_ROWS_H

#include "engine/connection_state.h"

/* The connection is open, with rows of at most so many bytes. */
void qt_large_rows_watch(struct qt_connection *, unsigned long most);
/* Was it lost because of a larger row? Then counts it and writes why. */
int qt_large_rows_explain(struct qt_connection *, char *text, size_t room);

#endif

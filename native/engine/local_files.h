/* SPDX-License-Identifier: Apache-2.0 */
/* LOAD DATA LOCAL: the server asks for a file, and gets the bytes that the tape has for this command, whatever the
 * name; no file of this machine is ever opened. A command of several statements may load several files: each is given
 * once, in the tape's order. */
#ifndef QT_LOCAL_FILES_H
#define QT_LOCAL_FILES_H

#include "base/bytes.h"
#include "engine/connection_state.h"

/* From now on the connection answers what the server asks for. */
void qt_local_files_install(struct qt_connection *);
/* Gives the connection the files among an event's params until qt_local_files_forget: *own becomes what params hold
 * besides (len 0 = nothing). 0, or 1 = not understood. */
int qt_local_files_provide(struct qt_connection *, char *params, size_t len, struct qt_span *own);
void qt_local_files_forget(struct qt_connection *);

#endif

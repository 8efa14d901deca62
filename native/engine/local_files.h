/* SPDX-License-Identifier: Apache-2.0 */
/* LOAD DATA LOCAL: the server requests a file, and the replay sends the bytes that the tape has for this command,
 * whatever the file name. The replay never opens a file of the local host. A command with several statements may load
 * several files: each file is sent once, in tape order. */
#ifndef QT_LOCAL_FILES_H
#define QT_LOCAL_FILES_H

#include "base/bytes.h"
#include "engine/connection_state.h"

/* Installs the handler that answers the server's file requests on this connection. */
void qt_local_files_install(struct qt_connection *);
/* Gives the connection the files in an event's params. The files stay set until qt_local_files_forget. *own becomes the
 * remaining params (len 0 = none). Returns 0, or 1 if the params are invalid. */
int qt_local_files_provide(struct qt_connection *, char *params, size_t len, struct qt_span *own);
void qt_local_files_forget(struct qt_connection *);

#endif

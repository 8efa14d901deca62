/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements of one connection. Statements are reference-counted. The references are held by the list,
 * `last_stmt` and each pending command that uses the statement. The last qt_stmt_drop frees the statement. */
#ifndef QT_PREPARED_STATEMENTS_H
#define QT_PREPARED_STATEMENTS_H

#include "protocol/protocol_state.h"

/* Creates a statement for a PREPARE. The list, `last_stmt` and the caller each get a reference. Returns NULL when out
 * of memory. */
struct qt_stmt *qt_stmt_new(struct qt_decoder *);
/* Releases one reference to a statement. The pointer may be NULL. */
void qt_stmt_drop(struct qt_stmt *);
/* Returns the statement with the client's `id`, with a new reference for the caller. Returns NULL if its PREPARE was
 * not captured. */
struct qt_stmt *qt_stmt_find(struct qt_decoder *, uint32_t id);
/* Removes a closed statement from the list. */
void qt_stmt_close(struct qt_decoder *, struct qt_stmt *);
/* Removes all statements from the list. */
void qt_stmt_forget_all(struct qt_decoder *);
/* Fills `d->params` for a command, in the format of schemas/params.md. Returns 0, or 1 if the command has no
 * parameters. Returns -1 if the parameters could not be decoded. `d->params` then contains the raw bytes. */
int qt_stmt_write_params(struct qt_decoder *, struct qt_pending_command *);

#endif

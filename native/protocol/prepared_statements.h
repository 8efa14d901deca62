/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements of one connection. Each is owned by those who hold it: the list, last_stmt, and each waiting
 * command that names it; the last qt_stmt_drop frees it. */
#ifndef QT_PREPARED_STATEMENTS_H
#define QT_PREPARED_STATEMENTS_H

#include "protocol/protocol_state.h"

/* A statement to be prepared, held by the list, last_stmt and the caller. NULL when out of memory. */
struct qt_stmt *qt_stmt_new(struct qt_decoder *);
/* One owner less; NULL is fine. */
void qt_stmt_drop(struct qt_stmt *);
/* The statement that a client means by `id`, with one owner more for the caller. NULL = its PREPARE was never seen. */
struct qt_stmt *qt_stmt_find(struct qt_decoder *, uint32_t id);
/* The client has closed it: the list lets it go. */
void qt_stmt_close(struct qt_decoder *, struct qt_stmt *);
/* The list lets all go. */
void qt_stmt_forget_all(struct qt_decoder *);
/* Fills d->params for a command that has some, as schemas/params.md says; 0, 1 = none, -1 = not understood (raw ones
 * are given). */
int qt_stmt_write_params(struct qt_decoder *, struct qt_pending_command *);

#endif

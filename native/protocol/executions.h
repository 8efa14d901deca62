/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of prepared statements, written as schemas/params.md says. */
#ifndef QT_EXECUTIONS_H
#define QT_EXECUTIONS_H

#include "protocol/protocol_state.h"

/* Fill d->params for a whole EXECUTE or BULK_EXECUTE of a known statement. 0; -1 = the packet does not fit its
 * statement, as d->misfit says, or out of memory. */
int qt_execution_write(struct qt_decoder *, struct qt_pending_command *);
int qt_bulk_write(struct qt_decoder *, struct qt_pending_command *);

#endif

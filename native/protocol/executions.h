/* SPDX-License-Identifier: Apache-2.0 */
/* Writes executions of prepared statements in the format of schemas/params.md. */
#ifndef QT_EXECUTIONS_H
#define QT_EXECUTIONS_H

#include "protocol/protocol_state.h"

/* Both functions fill `d->params` for a complete EXECUTE or BULK_EXECUTE of a known statement. They return 0, or -1 if
 * memory runs out or the packet does not fit its statement. If the packet does not fit, `d->misfit` is the first wrong
 * byte. */
int qt_execution_write(struct qt_decoder *, struct qt_pending_command *);
int qt_bulk_write(struct qt_decoder *, struct qt_pending_command *);

#endif

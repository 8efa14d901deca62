/* SPDX-License-Identifier: Apache-2.0 */
/* The collation that a session logs in with, or changes to: the library has one of its own for each character set. */
#ifndef QT_ENGINE_COLLATION_H
#define QT_ENGINE_COLLATION_H

#include "engine/connection_state.h"

/* Behind the packet that named one: a SET NAMES later changes what the library calls its own. */
void qt_collation_keep(struct qt_connection *, const struct qt_login *);

/* Before COM_CHANGE_USER: the library asks for the character set of its options. `names`: NULL = as before. */
void qt_collation_choose(struct qt_connection *, const char *names);

#endif

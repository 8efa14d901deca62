/* SPDX-License-Identifier: Apache-2.0 */
/* What assigning to a variable does. */
#ifndef QT_ASSIGN_H
#define QT_ASSIGN_H

#include "sql/sql_state.h"

/* SET name = : c->name is the name. */
void qt_assigned(struct qt_classifier *);

#endif

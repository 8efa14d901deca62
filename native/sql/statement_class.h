/* SPDX-License-Identifier: Apache-2.0 */
/* The class and danger of one statement. */
#ifndef QT_STATEMENT_CLASS_H
#define QT_STATEMENT_CLASS_H

#include "sql/sql_state.h"

struct qt_statement_class {
    int klass, danger; /* enum qt_class, enum qt_danger */
};

/* Decides the class and danger of the statement that was read. Also sets flags and `secret`. */
struct qt_statement_class qt_statement_class_of(struct qt_classifier *);

#endif

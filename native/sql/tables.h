/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tables that a statement names and the functions that it calls. Private to the native part.
 *
 * Names are in lower case, with a schema only if the statement has one: shop.orders. A part that is not a plain
 * identifier keeps its back quotes. Tables that are reached only through a view, a trigger or a routine are not
 * found. */
#ifndef QT_TABLES_H
#define QT_TABLES_H

#include "base/bytes.h"
#include "sql/lexer.h"

/* Lists of NUL-terminated names in the order of the text, without duplicates. Free them with qt_names_free. */
struct qt_names {
    struct qt_bytes tables, calls;
};

void qt_names_free(struct qt_names *);
/* Reads a statement once. The lexer must be at its beginning. Returns 0, or -1 when out of memory. */
int qt_names_read(struct qt_names *, const struct qt_lexer *);

#endif

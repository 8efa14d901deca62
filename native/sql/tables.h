/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables a statement names, and what it calls. Private to the native part.
 *
 * Names are in lower case, as written with or without their schema: shop.orders. A part that is no plain identifier
 * keeps its back quotes. What a statement only touches by way of a view, a trigger or a routine is not seen. */
#ifndef QT_TABLES_H
#define QT_TABLES_H

#include "base/bytes.h"
#include "sql/lexer.h"

/* Each with a NUL behind it, in the order of the text, once each; owned by who gives it to qt_names_free. */
struct qt_names {
    struct qt_bytes tables, calls;
};

void qt_names_free(struct qt_names *);
/* Reads the statement once, that this lexer is at the beginning of. 0, or -1 when out of memory. */
int qt_names_read(struct qt_names *, const struct qt_lexer *);

#endif

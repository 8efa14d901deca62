/* SPDX-License-Identifier: Apache-2.0 */
/* How a statement is written: the properties of schemas/names.toml. */
#ifndef QT_PROPERTIES_H
#define QT_PROPERTIES_H

#include "sql/lexer.h"

/* Bits of enum qt_property of the text that this lexer is at the beginning of. */
uint64_t qt_properties_read(const struct qt_lexer *);

#endif

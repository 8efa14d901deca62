/* SPDX-License-Identifier: Apache-2.0 */
/* Finds how a statement is written: the properties of schemas/names.toml. */
#ifndef QT_PROPERTIES_H
#define QT_PROPERTIES_H

#include "sql/lexer.h"

/* Returns the bits of enum qt_property for a text. The lexer must be at the beginning of the text. */
uint64_t qt_properties_read(const struct qt_lexer *);

#endif

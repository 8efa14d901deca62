/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the properties of a statement that schemas/names.toml lists. */
#ifndef QT_PROPERTIES_H
#define QT_PROPERTIES_H

#include "sql/lexer.h"

/* Returns the bits of enum qt_property for a text. The lexer must be at the beginning of the text. */
uint64_t qt_properties_read(const struct qt_lexer *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter types by statement text. All connections add their types. Connections that sent their types before the
 * capture use them. A text with conflicting types yields no types. Only one thread may use the table at a time. */
#ifndef QT_PROTOCOL_PARAMETER_TYPES_H
#define QT_PROTOCOL_PARAMETER_TYPES_H

#include <stdint.h>

#include "base/bytes.h"

struct qt_parameter_types;

/* Returns NULL when out of memory. */
struct qt_parameter_types *qt_parameter_types_new(void);
void qt_parameter_types_free(struct qt_parameter_types *);
/* Adds the types of a text, 2 bytes per parameter. If the table is full, the types are ignored. */
void qt_parameter_types_add(struct qt_parameter_types *, struct qt_span text, struct qt_span types);
/* Returns the parameter types of a text, `n` bytes. Returns p NULL if the table has no types for the text. The table
 * owns the types, which are valid until the next call. */
struct qt_span qt_parameter_types_find(const struct qt_parameter_types *, struct qt_span text, size_t n);
/* Counts an execution that was decoded with types from this table. */
void qt_parameter_types_used(struct qt_parameter_types *);
uint64_t qt_parameter_types_count(const struct qt_parameter_types *);

#endif

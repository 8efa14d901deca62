/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter types by statement text. They are collected from all connections, for connections that sent theirs before
 * the capture. A text with conflicting types yields no types. Only one thread may use the table at a time. */
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
/* Returns the `n` bytes of types of a text, or p NULL if there are none. The table owns them; they are valid until the
 * next call. */
struct qt_span qt_parameter_types_find(const struct qt_parameter_types *, struct qt_span text, size_t n);
/* Counts an execution that was decoded with types from this table. */
void qt_parameter_types_used(struct qt_parameter_types *);
uint64_t qt_parameter_types_count(const struct qt_parameter_types *);

#endif

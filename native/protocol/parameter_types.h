/* SPDX-License-Identifier: Apache-2.0 */
/* Types of parameters by the text of their statement, as connections send them: for connections that sent theirs before
 * the capture began. A text that was sent with different types has none. One thread at a time. */
#ifndef QT_PROTOCOL_PARAMETER_TYPES_H
#define QT_PROTOCOL_PARAMETER_TYPES_H

#include <stdint.h>

#include "base/bytes.h"

struct qt_parameter_types;

/* NULL when out of memory. */
struct qt_parameter_types *qt_parameter_types_new(void);
void qt_parameter_types_free(struct qt_parameter_types *);
/* Two bytes a parameter; beyond a bound of texts nothing is kept. */
void qt_parameter_types_add(struct qt_parameter_types *, struct qt_span text, struct qt_span types);
/* The types of `n` bytes that go with a text; p NULL: none. The table's own until the next call. */
struct qt_span qt_parameter_types_find(const struct qt_parameter_types *, struct qt_span text, size_t n);
/* Executions that were read with them: counted by who reads them. */
void qt_parameter_types_used(struct qt_parameter_types *);
uint64_t qt_parameter_types_count(const struct qt_parameter_types *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values in a statement by their pseudonyms. Works in place on any bytes. Returns 0, or -1 when out of
 * memory. After -1 the bytes must not be used. */
#ifndef QT_PSEUDONYMS_SQL_H
#define QT_PSEUDONYMS_SQL_H

#include <stddef.h>

struct qt_pseudonyms;

/* Replaces the literals and comments of a statement, in every reading that a session may use. */
int qt_pseudonyms_statement(struct qt_pseudonyms *, char *p, size_t n);

#endif

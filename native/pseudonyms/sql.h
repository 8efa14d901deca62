/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values inside a statement by their pseudonyms. In place, any bytes at all. 0, or -1
 * when out of memory: then the bytes must not be used. */
#ifndef QT_PSEUDONYMS_SQL_H
#define QT_PSEUDONYMS_SQL_H

#include <stddef.h>

struct qt_pseudonyms;

/* Its literals and comments, in each way in which a session may read it. */
int qt_pseudonyms_statement(struct qt_pseudonyms *, char *p, size_t n);

#endif

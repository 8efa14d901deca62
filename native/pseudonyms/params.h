/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values of a prepared statement's parameters by their pseudonyms. In place, any bytes at all. 0, or -1
 * when out of memory: then the bytes must not be used. */
#ifndef QT_PSEUDONYMS_PARAMS_H
#define QT_PSEUDONYMS_PARAMS_H

#include <stddef.h>

struct qt_pseudonyms;

/* Parameters as schemas/params.md has them. Also -1 where they are not what they say they are. */
int qt_pseudonyms_params(struct qt_pseudonyms *, char *p, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values of a prepared statement's parameters by their pseudonyms. Works in place on any bytes. Returns 0,
 * or -1 when out of memory. After -1 the bytes must not be used. */
#ifndef QT_PSEUDONYMS_PARAMS_H
#define QT_PSEUDONYMS_PARAMS_H

#include <stddef.h>

struct qt_pseudonyms;

/* Replaces the values in parameters in the format of schemas/params.md. Also returns -1 if the bytes do not have this
 * format. */
int qt_pseudonyms_params(struct qt_pseudonyms *, char *p, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces one value by its pseudonym. Works in place on any bytes. Returns 0, or -1 when out of memory. After -1 the
 * bytes must not be used. */
#ifndef QT_PSEUDONYMS_VALUE_H
#define QT_PSEUDONYMS_VALUE_H

#include <stddef.h>

struct qt_pseudonyms;

/* Replaces a whole string or number. */
int qt_pseudonyms_value(struct qt_pseudonyms *, char *p, size_t n);
/* Replaces digits of radix 16 or 2. */
int qt_pseudonyms_digits(struct qt_pseudonyms *, char *p, size_t n, int radix);

#endif

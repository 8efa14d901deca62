/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces one value by its pseudonym. In place, any bytes at all. 0, or -1
 * when out of memory: then the bytes must not be used. */
#ifndef QT_PSEUDONYMS_VALUE_H
#define QT_PSEUDONYMS_VALUE_H

#include <stddef.h>

struct qt_pseudonyms;

/* A text or number by itself. */
int qt_pseudonyms_value(struct qt_pseudonyms *, char *p, size_t n);
/* Digits of radix 16 or 2. */
int qt_pseudonyms_digits(struct qt_pseudonyms *, char *p, size_t n, int radix);

#endif

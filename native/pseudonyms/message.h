/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values in a server's message by their pseudonyms. Works in place on any bytes. */
#ifndef QT_PSEUDONYMS_MESSAGE_H
#define QT_PSEUDONYMS_MESSAGE_H

#include <stddef.h>

struct qt_pseudonyms;

/* Returns 0, or -1 when out of memory. After -1 the bytes must not be used. */
int qt_pseudonyms_message(struct qt_pseudonyms *, char *p, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values inside a server's message by their pseudonyms. In place, any bytes at all. */
#ifndef QT_PSEUDONYMS_MESSAGE_H
#define QT_PSEUDONYMS_MESSAGE_H

#include <stddef.h>

struct qt_pseudonyms;

/* 0, or -1 when out of memory: then the bytes must not be used. */
int qt_pseudonyms_message(struct qt_pseudonyms *, char *p, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins: values of the same shape and length that say nothing of the originals but their shape.
 *
 * Under one key a value always has the same stand-in, and two different values never have one: joins still join, what was
 * unique stays unique. Letters become letters (upper and lower stay), digits digits; all else stays. Numbers keep sign,
 * length, first digit, and fit the same integer types; dates keep their year and stay dates. Numbers of one digit stay.
 *
 * How: a Feistel network over a value's characters, each with its own radix, its round function AES-CBC-MAC, after FF1 (NIST SP
 * 800-38G). Values outside the wanted set are sent round again (cycle walking), so the set maps onto itself.
 */
#ifndef QT_STANDINS_H
#define QT_STANDINS_H

#include <stddef.h>
#include <stdint.h>

struct qt_standins;

/* In place; any bytes at all. 0, or -1 when out of memory: then the bytes must not be used. */
int qt_standins_value(struct qt_standins *, char *p, size_t n);     /* a text or number by itself */
int qt_standins_digits(struct qt_standins *, char *p, size_t n, int radix); /* 16: hexadecimal digits, 2: bits */
int qt_standins_statement(struct qt_standins *, char *p, size_t n); /* SQL: its literals and comments */
int qt_standins_message(struct qt_standins *, char *p, size_t n);   /* a server's message: what it quotes */
int qt_standins_params(struct qt_standins *, char *p, size_t n);    /* schemas/params.md */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Permutes the symbols of one value under the key. Only one thread at a time may use the object. */
#ifndef QT_PSEUDONYMS_SYMBOLS_H
#define QT_PSEUDONYMS_SYMBOLS_H

#include "pseudonyms/pseudonyms_state.h"

/* Removes all symbols and makes room for n. The object owns the memory. Returns 0, or -1 when out of memory. */
int qt_symbols_reset(struct qt_pseudonyms *, size_t n);
/* Permutes the symbols and writes them to p (n bytes). Repeats the permutation until `wanted` accepts the result as a
 * member of the original's set. With `wanted` NULL, any result is accepted. Returns 0, or -1 when out of memory. */
int qt_symbols_walk(struct qt_pseudonyms *, char *p, size_t n,
                    int (*wanted)(const char *was, const char *now, size_t n));

#endif

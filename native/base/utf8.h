/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of unknown origin into UTF-8 columns. */
#ifndef QT_UTF8_H
#define QT_UTF8_H

#include "base/arrow_build.h"

/* Length of the well-formed sequence at p, of which `len` > 0 bytes are there; 0 where there is none (Unicode 15,
 * table 3-7). */
size_t qt_utf8_sequence(const unsigned char *p, size_t len);
/* In place: each byte of a NUL-terminated text that is not UTF-8 becomes '?'. */
void qt_utf8_repair(char *text);
/* Appends a text that may not be UTF-8: bad bytes become U+FFFD. */
void qt_col_any_text(struct qt_column *, const char *text, size_t len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of unknown origin into UTF-8 columns. */
#ifndef QT_UTF8_H
#define QT_UTF8_H

#include "arrow_build.h"

/* Appends a text that may not be UTF-8: bad bytes become U+FFFD. */
void qt_col_any_text(struct qt_column *, const char *text, size_t len);

#endif

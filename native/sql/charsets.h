/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which character sets have bytes that look like a backslash or a quote, or white space above 127. */
#ifndef QT_CHARSETS_H
#define QT_CHARSETS_H

#include "sql/lexer.h"

/* enum qt_charset, or -1 where it is none that every server knows. */
int qt_charset_of_name(const struct qt_token *);
int qt_charset_of_collation(int64_t collation);

#endif

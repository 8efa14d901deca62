/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lists of the normalized text: the text between parentheses and commas. */
#ifndef QT_NORMALIZE_LISTS_H
#define QT_NORMALIZE_LISTS_H

#include "sql/normal_text.h"

/* Writes ( and begins its content. */
void qt_list_open(struct qt_normalizer *);
/* Writes a comma and the final form of the element before it. */
void qt_list_comma(struct qt_normalizer *);
/* Writes ) and ends its content. */
void qt_list_close(struct qt_normalizer *);
/* Skips tokens of every row after the first. Returns 1 if the token was skipped. */
int qt_list_skip(struct qt_normalizer *, const struct qt_token *);

#endif

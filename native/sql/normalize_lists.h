/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lists of the normalised text: what is between parentheses and commas. */
#ifndef QT_NORMALIZE_LISTS_H
#define QT_NORMALIZE_LISTS_H

#include "sql/normal_text.h"

/* Writes ( and begins what is in it. */
void qt_list_open(struct qt_normalizer *);
/* Writes a comma, and what the element before it became. */
void qt_list_comma(struct qt_normalizer *);
/* Writes ) and ends what was in it. */
void qt_list_close(struct qt_normalizer *);
/* Swallows what belongs to a row behind the first; returns 1 where it did. */
int qt_list_skip(struct qt_normalizer *, const struct qt_token *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies statements by their tokens. Finds their kind, actions, dangers and passwords. */
#ifndef QT_CLASSIFY_H
#define QT_CLASSIFY_H

#include "sql/sql_state.h"

/* Begins a text with one or more statements. */
void qt_classify_begin(struct qt_classifier *);
/* Begins the same text again in another reading. Keeps the results so far. */
void qt_classify_again(struct qt_classifier *);
void qt_classify(struct qt_classifier *, const struct qt_token *);
/* Discards the tokens of the current statement. */
void qt_classify_drop(struct qt_classifier *);
/* The current statement runs another text, which `other` has classified. Adds the dangers of that text. */
void qt_classify_runs(struct qt_classifier *, const struct qt_classifier *other);
/* Ends the text. Afterwards klass, danger, flags, actions and secret are valid. */
void qt_classify_end(struct qt_classifier *);

#endif

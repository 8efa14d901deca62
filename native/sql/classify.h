/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies statements by their tokens: what they are, what they do, whether they carry passwords. */
#ifndef QT_CLASSIFY_H
#define QT_CLASSIFY_H

#include "sql/sql_state.h"

/* Begins a text, which may hold several statements. */
void qt_classify_begin(struct qt_classifier *);
/* The same text follows once more, in another reading; what was found so far is kept. */
void qt_classify_again(struct qt_classifier *);
void qt_classify(struct qt_classifier *, const struct qt_token *);
/* What was read of the statement at hand does not count. */
void qt_classify_drop(struct qt_classifier *);
/* The statement at hand runs another text, which was read to its end: its dangers are added. */
void qt_classify_runs(struct qt_classifier *, const struct qt_classifier *other);
/* The text is whole: klass, danger, flags, actions and secret hold. */
void qt_classify_end(struct qt_classifier *);

#endif

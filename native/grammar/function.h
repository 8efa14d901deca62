/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions, with the words that some have between their arguments. */
#ifndef QT_GRAMMAR_FUNCTION_H
#define QT_GRAMMAR_FUNCTION_H

#include "grammar/grammar_state.h"

/* At the parenthesis behind a name; `word` is that name's, where it is one that the grammar knows. */
void qt_function(struct qt_grammar *, int word);

#endif

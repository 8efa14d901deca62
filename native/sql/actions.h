/* SPDX-License-Identifier: Apache-2.0 */
/* What a statement does to its session and its transaction, and what its answer depends on: QT_ACTION_*, collected from
 * the tokens that classify.c sees. A text of several statements does what all of them do; of what undo each other the
 * last one counts. */
#ifndef QT_ACTIONS_H
#define QT_ACTIONS_H

#include "sql/sql_state.h"

/* The QT_ACTION_* of a function call and of a keyword without brackets. 0 = the answer does not depend on it. */
uint32_t qt_action_of_call(int keyword);
uint32_t qt_action_of_word(int keyword);
/* What CREATE [OR REPLACE] [DEFINER = ...] or ALTER is about: the first of its words that tells. */
enum qt_defines qt_defined_by(int first, int keyword);
void qt_actions_word(struct qt_classifier *, int keyword);               /* a word with QT_KW_WATCH */
void qt_actions_system(struct qt_classifier *, const struct qt_token *); /* the name behind @@ */
void qt_actions_show(struct qt_classifier *, const struct qt_token *);   /* one of the first words of SHOW */
void qt_actions_autocommit(struct qt_classifier *,
                           const struct qt_token *); /* what may be the value of SET autocommit */
void qt_actions_end(struct qt_classifier *);         /* the statement is whole: adds to c->actions */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the QT_ACTION_* of a statement from the tokens of classify.c. An action is an effect on the session or
 * transaction, or state that the result depends on.
 *
 * A text of several statements has the actions of all statements. If two actions cancel each other, the later action
 * counts. */
#ifndef QT_ACTIONS_H
#define QT_ACTIONS_H

#include "sql/sql_state.h"

/* Returns the QT_ACTION_* of a function call, or of a keyword without brackets. Returns 0 if the call has no such
 * action. */
uint32_t qt_action_of_call(int keyword);
uint32_t qt_action_of_word(int keyword);
/* Returns the kind of object that CREATE [OR REPLACE] [DEFINER = ...] or ALTER defines. The first word that names a
 * kind decides. */
enum qt_defines qt_defined_by(int first, int keyword);
void qt_actions_word(struct qt_classifier *, int keyword);                   /* a word with QT_KW_WATCH */
void qt_actions_system(struct qt_classifier *, const struct qt_token *);     /* the name after @@ */
void qt_actions_show(struct qt_classifier *, const struct qt_token *);       /* one of the first words of SHOW */
void qt_actions_autocommit(struct qt_classifier *, const struct qt_token *); /* possible value of SET autocommit */
void qt_actions_end(struct qt_classifier *); /* call at the statement's end; adds to c->actions */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names and literals that tell of a password or a key. */
#ifndef QT_SECRETS_H
#define QT_SECRETS_H

#include "sql/state.h"

/* A variable is assigned: sets `secret` where its name tells of one. */
void qt_secret_assigned(struct qt_classifier *);
/* Does this literal carry one, where it is? */
int qt_secret_in_string(const struct qt_classifier *, const struct qt_token *);
/* Does what is between two tokens, comments and blanks, tell of one? */
int qt_secret_in_gap(const char *, size_t);
/* The text begins as no statement does: does it speak of one, anywhere? */
int qt_secret_in_nonsense(const char *sql, size_t len);
/* Is it the name of a function or procedure whose literals may be secrets? */
int qt_secret_function(const char *name, size_t len);
/* name = in a statement: sets `secret` where it is an option of a table whose name tells of one. */
void qt_secret_option(struct qt_classifier *, const char *name, size_t len);

#endif

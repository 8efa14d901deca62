/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names and literals that tell of a password or a key. */
#ifndef QT_SECRETS_H
#define QT_SECRETS_H

#include "sql/sql_state.h"

/* A variable is assigned: sets `secret` where its name tells of one. */
void qt_secret_assigned(struct qt_classifier *);
/* A string or a number comes: sets `secret` where it is one. */
void qt_secret_literal(struct qt_classifier *, const struct qt_token *);
/* A word of this keyword comes: where select lists begin and end, and what is behind INTO. */
void qt_secret_clause(struct qt_classifier *, const struct qt_token *, int keyword);
/* A variable comes: is it what SELECT 'x' INTO @password fills? */
void qt_secret_into(struct qt_classifier *, const struct qt_token *);
/* A parenthesis is about to close. */
void qt_secret_closed(struct qt_classifier *);
/* Does what is between two tokens, comments and blanks, tell of one? */
int qt_secret_in_gap(const char *, size_t);
/* Is this token of a hint, which does nothing else that matters? Where the hint ends it is read as a comment is. */
int qt_secret_in_hint(struct qt_classifier *, const struct qt_token *);
/* The text begins as no statement does: does it speak of one, anywhere? */
int qt_secret_in_nonsense(const char *sql, size_t len);
/* A word, or a quoted name, comes: sets `secret`, or `declares`, where it tells of one. */
void qt_secret_named(struct qt_classifier *, const struct qt_token *);
/* PASSWORD comes, wherever it is: SET PASSWORD = '...', also behind other assignments, as MariaDB has it. */
void qt_secret_password(struct qt_classifier *);
/* Is it the schema of the server's own tables? */
int qt_secret_schema(const char *name, size_t len);
/* The keyword before the parenthesis that comes: a function that takes a password or a key? */
void qt_secret_call(struct qt_classifier *);
/* Is it the name of a function or procedure whose literals may be secrets? */
int qt_secret_function(const char *name, size_t len);
/* name = in a statement, or name := where `sign` is a colon: sets `secret` where it is an option of a table, or a
 * user's variable, whose name tells of one. */
void qt_secret_option(struct qt_classifier *, const char *name, size_t len, char sign);

#endif

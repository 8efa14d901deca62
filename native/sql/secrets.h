/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names and literals that indicate a password or a key. */
#ifndef QT_SECRETS_H
#define QT_SECRETS_H

#include "sql/sql_state.h"

/* Handles an assigned variable. Sets `secret` if its name indicates a secret. */
void qt_secret_assigned(struct qt_classifier *);
/* Handles a string or a number. Sets `secret` if the literal is a secret. */
void qt_secret_literal(struct qt_classifier *, const struct qt_token *);
/* Handles a word with this keyword: tracks the begin and end of select lists and the names after INTO. */
void qt_secret_clause(struct qt_classifier *, const struct qt_token *, int keyword);
/* Handles a variable that may be the target of SELECT 'x' INTO @password. */
void qt_secret_into(struct qt_classifier *, const struct qt_token *);
/* Call before a parenthesis closes. */
void qt_secret_closed(struct qt_classifier *);
/* Returns 1 if the comments between two tokens indicate a secret. */
int qt_secret_in_gap(const char *, size_t);
/* Returns 1 if the token belongs to a hint. Tokens of a hint have no other effect. At its end, the hint is searched
 * like a comment. */
int qt_secret_in_hint(struct qt_classifier *, const struct qt_token *);
/* Searches a text whose beginning matches no known statement. Returns 1 if any part of the text indicates a secret. */
int qt_secret_in_nonsense(const char *sql, size_t len);
/* Handles a word or a quoted name. Sets `secret` or `declares` if the name indicates a secret. */
void qt_secret_named(struct qt_classifier *, const struct qt_token *);
/* Handles the word PASSWORD at any position, as in SET PASSWORD = '...'. In MariaDB this assignment may follow
 * others. */
void qt_secret_password(struct qt_classifier *);
/* Returns 1 if the name is the schema of the server's own tables. */
int qt_secret_schema(const char *name, size_t len);
/* Handles a call. The keyword before the parenthesis may be a function that takes a password or a key. */
void qt_secret_call(struct qt_classifier *);
/* Returns 1 for a function or procedure whose literals may be secrets. */
int qt_secret_function(const char *name, size_t len);
/* Handles `name =` in a statement, or `name :=` if `sign` is a colon. Sets `secret` for a table option or a user
 * variable whose name indicates a secret. */
void qt_secret_option(struct qt_classifier *, const char *name, size_t len, char sign);

#endif

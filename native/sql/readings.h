/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies a text in every way in which a session may read it: sql_mode and character set decide where its literals
 * end, its server's version which comments are executed. The text counts as the worst of them. What
 * is known of the session leaves fewer ways. */
#ifndef QT_READINGS_H
#define QT_READINGS_H

#include "querytape.h"
#include "sql/lexer.h"
#include "sql/sql_state.h"

#define QT_KNOWS_CHARSET 4 /* of qt_session_mode.known; the others are QT_READ_* */
#define QT_KNOWS_ALL (QT_READ_NO_BACKSLASH | QT_READ_ANSI | QT_KNOWS_CHARSET)

/* Each way to read quotes that the session may have, but for the first one, which is the mode's own: writes them into
 * `way`, which has room for QT_MAX_WAYS, and returns how many there are. */
#define QT_MAX_WAYS (QT_CHARSETS * (QT_READ_NO_BACKSLASH + QT_READ_ANSI + 1))
size_t qt_other_ways(struct qt_session_mode, struct qt_session_mode *way);
/* A byte above 127 before a backslash or back quote, wherever it is. */
int qt_holds_wide(const char *p, size_t len);
/* A byte that is white space in some character sets, wherever it is. */
int qt_holds_high_blank(const char *p, size_t len);
/* Statements inside literals: PREPARE s FROM '...', EXECUTE IMMEDIATE '...', SET @s = '...'. Returns whether the one in
 * this literal carries a password or a key. Where it is what PREPARE or EXECUTE IMMEDIATE runs, its dangers are theirs.
 * `c` has read what is before it. */
int qt_read_inner(struct qt_classifier *c, const struct qt_keywords *, const struct qt_token *literal);
/* The text was classified once, to its end, by the tokens of this lexer, which read it in the mode's own way: reads it
 * again in the other ways. */
void qt_readings(struct qt_classifier *, const struct qt_lexer *, struct qt_session_mode, const char *sql, size_t len);
/* Classifies a text from its beginning, in every way. */
void qt_readings_all(struct qt_classifier *, const struct qt_keywords *, const char *sql, size_t len);

#endif

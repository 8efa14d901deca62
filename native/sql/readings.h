/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies a text in every reading that a session may use. sql_mode and charset decide where literals end. The server
 * version decides which comments are executed.
 *
 * The most dangerous reading counts. Known settings of the session reduce the number of readings. */
#ifndef QT_READINGS_H
#define QT_READINGS_H

#include "querytape.h"
#include "sql/lexer.h"
#include "sql/sql_state.h"

#define QT_KNOWS_CHARSET 4 /* flag of qt_session_mode.known, in addition to QT_READ_* */
#define QT_KNOWS_ALL (QT_READ_NO_BACKSLASH | QT_READ_ANSI | QT_KNOWS_CHARSET)

/* Lists the ways in which the session may read quotes, except the mode's own way. Writes the ways to `way`, which has
 * room for QT_MAX_WAYS. Returns the number of ways. */
#define QT_MAX_WAYS (QT_CHARSETS * (QT_READ_NO_BACKSLASH + QT_READ_ANSI + 1))
size_t qt_other_ways(struct qt_session_mode, struct qt_session_mode *way);
/* Returns 1 if the text has a byte above 127 before a backslash or back quote. */
int qt_holds_wide(const char *p, size_t len);
/* Returns 1 if the text has a byte that is white space in some charsets. */
int qt_holds_high_blank(const char *p, size_t len);
/* Classifies statements inside literals: PREPARE s FROM '...', EXECUTE IMMEDIATE '...', SET @s = '...'. Returns 1 if
 * the literal contains a password or a key.
 *
 * If PREPARE or EXECUTE IMMEDIATE runs the literal, its dangers are added to `c`. The tokens before the literal must
 * already be in `c`. */
int qt_read_inner(struct qt_classifier *c, const struct qt_keywords *, const struct qt_token *literal);
/* Classifies a text again in its other readings. The text must already be classified once, to its end, with this lexer
 * and in the mode's own reading. */
void qt_readings(struct qt_classifier *, const struct qt_lexer *, struct qt_session_mode, const char *sql, size_t len);
/* Classifies a text from its beginning, in every reading. */
void qt_readings_all(struct qt_classifier *, const struct qt_keywords *, const char *sql, size_t len);

#endif

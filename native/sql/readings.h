/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies a text in every way in which a session may read it: sql_mode and character set decide where its literals
 * end, its server's version which comments are executed. The text counts as the worst of them. */
#ifndef QT_READINGS_H
#define QT_READINGS_H

#include "sql/lexer.h"
#include "sql/state.h"

/* The text was classified once, to its end, by the tokens of this lexer: reads it again in the other ways. */
void qt_readings(struct qt_classifier *, const struct qt_lexer *, const char *sql, size_t len);
/* Classifies a text from its beginning, in every way. */
void qt_readings_all(struct qt_classifier *, const struct qt_keywords *, const char *sql, size_t len);

#endif

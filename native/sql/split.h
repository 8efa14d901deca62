/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the statements of one text, and the INSERTs and REPLACEs among them. */
#ifndef QT_SPLIT_H
#define QT_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "querytape.h"

#define QT_MAX_SPLIT 100000 /* statements of one text; behind it nothing is certain */

struct qt_split {
    int64_t statements; /* that the server answers one by one; -1 = not certain */
    int comment_behind; /* the last one's semicolon: the server answers that, too */
    size_t *inserts;    /* pairs: place among the statements, offset in the text; owned by qt_split_free */
    size_t n_inserts, room;
};

/* As a session of this mode reads it: 0, or -1 when out of memory. Not certain is a text that the ways to read that are
 * left split differently, one with a statement that holds others or answers several times (BEGIN, CREATE, CALL, ...),
 * and one that asks ROW_COUNT(). */
int qt_split_text(struct qt_split *, struct qt_session_mode, const char *sql, size_t len);
void qt_split_free(struct qt_split *);
/* Whether the text has several statements for a server that takes several, in the first reading (the
 * usual one first) in which every quote closes. A routine's body is one. */
int qt_holds_several(const char *sql, size_t len);

#endif

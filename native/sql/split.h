/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the statements of one text, and the INSERTs and REPLACEs among them. */
#ifndef QT_SPLIT_H
#define QT_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "querytape.h"

#define QT_MAX_SPLIT 100000 /* statements of one text; longer texts are uncertain */

struct qt_split {
    int64_t statements; /* number of statements that the server answers separately; -1: uncertain */
    int comment_behind; /* a comment after the last semicolon, which the server also answers */
    size_t *inserts;    /* pairs: index of the statement, offset in the text; free with qt_split_free */
    size_t n_inserts, room;
};

/* Splits a text in the reading of this mode. Returns 0, or -1 when out of memory.
 *
 * The result is uncertain if the possible readings split the text differently, or if the text uses ROW_COUNT(). The
 * result is also uncertain if a statement contains others or returns several results (BEGIN, CREATE, CALL, ...). */
int qt_split_text(struct qt_split *, struct qt_session_mode, const char *sql, size_t len);
void qt_split_free(struct qt_split *);
/* Returns 1 if a server that accepts several statements finds several in this text. Uses the first reading in which
 * every quote closes; the default reading comes first. A routine's body is part of one statement. */
int qt_holds_several(const char *sql, size_t len);

#endif

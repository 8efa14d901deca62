/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a statement of MySQL or MariaDB for the tables and columns that it uses. */
#ifndef QT_GRAMMAR_STATEMENT_H
#define QT_GRAMMAR_STATEMENT_H

#include "grammar/grammar_state.h"
#include "querytape.h"

enum qt_parsed {
    QT_PARSED,       /* all of it was understood */
    QT_PARSED_OTHER, /* no statement that reads or writes rows by itself: DDL, SHOW, COMMIT, CALL, ... */
    QT_PARSED_NOT,   /* not understood at g->t; what was read before it counts for nothing */
    QT_PARSED_NO_MEMORY
};

void qt_grammar_init(struct qt_grammar *, const struct qt_words *);
void qt_grammar_free(struct qt_grammar *);
/* Reads a text of one or several statements as a session of this mode does; its lists hold until the next call. */
enum qt_parsed qt_parse(struct qt_grammar *, const struct qt_keywords *, struct qt_session_mode, const char *sql,
                        size_t len);

#endif

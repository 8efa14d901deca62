/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tables and columns that a MySQL or MariaDB statement uses. */
#ifndef QT_GRAMMAR_STATEMENT_H
#define QT_GRAMMAR_STATEMENT_H

#include "grammar/grammar_state.h"
#include "querytape.h"

enum qt_parsed {
    QT_PARSED,       /* the whole text was parsed */
    QT_PARSED_OTHER, /* does not itself read or write rows: DDL, SHOW, COMMIT, CALL, ... */
    QT_PARSED_NOT,   /* parsing failed at g->t; discard the partial results */
    QT_PARSED_NO_MEMORY
};

void qt_grammar_init(struct qt_grammar *, const struct qt_words *);
void qt_grammar_free(struct qt_grammar *);
/* Parses a text with one or more statements under the given session mode. The lists in the state stay valid until the
 * next call. */
enum qt_parsed qt_parse(struct qt_grammar *, const struct qt_keywords *, struct qt_session_mode, const char *sql,
                        size_t len);

#endif

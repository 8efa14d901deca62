/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a statement's names for tables.c: tokens, parentheses, names with their schema, and those that WITH defines. */
#ifndef QT_TABLE_READER_H
#define QT_TABLE_READER_H

#include "base/bytes.h"
#include "sql/lexer.h"

/* Each with a NUL behind it, in the order of the text, once each; owned by who gives it to qt_names_free. */
struct qt_names {
    struct qt_bytes tables, calls;
};

enum { QT_TABLE_LEVELS = 64, QT_TABLE_CTES = 16 };

struct qt_table_level {
    uint8_t query, list; /* SELECT or DELETE was read; a comma leads to another table */
    struct qt_token cte; /* WITH name AS ( this ): its name, len 0 = none */
};

struct qt_table_reader {
    struct qt_lexer lexer;
    struct qt_token t; /* at hand */
    struct qt_names *names;
    struct qt_table_level levels[QT_TABLE_LEVELS];
    struct qt_token ctes[QT_TABLE_CTES];
    size_t depth, n_ctes, words; /* words: of the statement so far */
    int first, previous;         /* keywords: the first word of the statement, the word before */
    uint8_t expect;              /* a table's name comes next */
    uint8_t on_table;            /* CREATE INDEX, CREATE TRIGGER, GRANT: ON names a table */
    uint8_t shows;               /* SHOW COLUMNS and its like: FROM names a table */
    int bad;
};

void qt_tables_begin_statement(struct qt_table_reader *);
void qt_tables_next(struct qt_table_reader *);
struct qt_table_level *qt_tables_level(struct qt_table_reader *); /* of the parentheses at hand */
int qt_tables_is_name(const struct qt_token *);
int qt_tables_is_modifier(const struct qt_token *);
int qt_tables_is_reserved(int keyword);
void qt_tables_read_name(struct qt_table_reader *, int as_table);
void qt_tables_read_cte(struct qt_table_reader *);
void qt_tables_close(struct qt_table_reader *); /* at a closing parenthesis */

#endif

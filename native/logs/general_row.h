/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the general query log: which lines begin a row, and what the row says. Spans point into the line. */
#ifndef QT_GENERAL_ROW_H
#define QT_GENERAL_ROW_H

#include "base/bytes.h"
#include "reader/log_time.h"

/* OLD: local times, and blanks where the server wrote tabs; TABBED: local times, and a row with tabs was seen. */
enum qt_general_style { QT_GENERAL_ANY = 0, QT_GENERAL_ISO = 1, QT_GENERAL_OLD = 2, QT_GENERAL_TABBED = 3 };

struct qt_general_command {
    const char *name; /* as the server writes it: `Init DB`, ... */
    size_t len;
    const char *tape; /* the tape's name of it */
    int sql;          /* its argument is a statement, which may have many lines */
};

struct qt_general_row {
    struct qt_logtime time; /* BAD: the row above's */
    int64_t thread_id;
    const struct qt_general_command *command;
    struct qt_span argument; /* to the end of the line */
    int tabbed;              /* a tab before the thread id or behind the command */
};

/* What the rows of a file look like, after one more. */
enum qt_general_style qt_general_style_after(enum qt_general_style style, const struct qt_general_row *row);
/* Is this line (without its newline) a row's first? `style`: what the file's other rows look like. */
int qt_general_parse_row(const char *p, size_t n, enum qt_general_style style, struct qt_general_row *out);
/* `root@localhost on shop using TCP/IP` of Connect and Change user; spans with p NULL where a part is missing. */
void qt_general_parse_account(struct qt_span argument, struct qt_span *user, struct qt_span *host, struct qt_span *db);

#endif

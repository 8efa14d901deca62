/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the general query log: finds the lines that begin a row and their fields. Spans point into the line. */
#ifndef QT_GENERAL_ROW_H
#define QT_GENERAL_ROW_H

#include "base/bytes.h"
#include "reader/log_time.h"

/* OLD: local times, with blanks in place of tabs. TABBED: local times, and a row with tabs was seen. */
enum qt_general_style { QT_GENERAL_ANY = 0, QT_GENERAL_ISO = 1, QT_GENERAL_OLD = 2, QT_GENERAL_TABBED = 3 };

struct qt_general_command {
    const char *name; /* command name as written by the server, such as `Init DB` */
    size_t len;
    const char *tape; /* command name on the tape */
    int sql;          /* the argument is a statement, possibly of many lines */
};

struct qt_general_row {
    struct qt_logtime time; /* BAD: no own time; use the previous row's time */
    int64_t thread_id;
    const struct qt_general_command *command;
    struct qt_span argument; /* up to the end of the line */
    int tabbed;              /* has a tab before the thread id or after the command */
};

/* Returns the row style of the file after `row`. `style` is the style before `row`. */
enum qt_general_style qt_general_style_after(enum qt_general_style style, const struct qt_general_row *row);
/* Parses the first line of a row, without its newline. Returns 0 if the line does not begin a row. `style` is the style
 * of the file's other rows. */
int qt_general_parse_row(const char *p, size_t n, enum qt_general_style style, struct qt_general_row *out);
/* Parses the argument of Connect and Change user, such as `root@localhost on shop using TCP/IP`. Missing parts give a
 * span with p NULL. */
void qt_general_parse_account(struct qt_span argument, struct qt_span *user, struct qt_span *host, struct qt_span *db);

#endif

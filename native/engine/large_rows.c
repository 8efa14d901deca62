/* SPDX-License-Identifier: Apache-2.0 */
/* Connector/C tells of such a row by its socket layer's error 2020 and puts 2013 (connection lost) in its place. The
 * socket layer's function for errors is a pointer: ours stands there once the connection is open. */
#include "engine/large_rows.h"

#include <errmsg.h>
#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>

#include <ma_pvio.h> /* needs mysql.h */

/* The library sets the error once more behind each of these, with the state and a text of its own. */
static void note_error(MYSQL *m, unsigned error, const char *state, const char *format, ...)
{
    struct qt_connection *c = m->options.local_infile_userdata; /* as local_files.c has it */
    va_list more;
    m->net.last_errno = error;
    snprintf(m->net.sqlstate, sizeof m->net.sqlstate, "%s", state);
    va_start(more, format);
    if (format != NULL)
        vsnprintf(m->net.last_error, sizeof m->net.last_error, format, more);
    va_end(more);
    if (c != NULL && error == CR_NET_PACKET_TOO_LARGE)
        c->row_is_too_large = 1;
}

void qt_large_rows_watch(struct qt_connection *c, unsigned long most)
{
    c->max_row = most;
    c->row_is_too_large = 0;
    if (c->mysql->net.pvio != NULL)
        c->mysql->net.pvio->set_error = note_error;
}

int qt_large_rows_explain(struct qt_connection *c, char *text, size_t room)
{
    if (!c->row_is_too_large)
        return 0;
    c->row_is_too_large = 0;
    qt_connection_count(c, QT_COUNT_ROWS_TOO_LARGE, 1);
    snprintf(text, room,
             "a row of the answer is larger than %.1f MiB, which is what a session of this replay may hold: its"
             " connection was ended here, not by the server",
             (double)c->max_row / (1 << 20));
    return 1;
}

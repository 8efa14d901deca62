/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks prepared statements: their ids, their long data, and the other parameters of a command as in
 * schemas/params.md.
 *
 * A command is processed when its reply is complete. At that time, a PREPARE that was pipelined before the command is
 * known. */
#include "protocol/prepared_statements.h"

#include "base/reading.h"
#include "protocol/executions.h"
#include "protocol/login_packets.h"

#define LAST_PREPARED UINT32_MAX /* MariaDB: the statement of the preceding PREPARE */

struct qt_stmt *qt_stmt_new(struct qt_decoder *d)
{
    struct qt_stmt *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->owners = 3; /* references: the list, `last_stmt` and the command */
    s->number = ++d->n_stmts;
    s->next = d->stmts;
    d->stmts = s;
    qt_stmt_drop(d->last_stmt);
    d->last_stmt = s;
    return s;
}

void qt_stmt_drop(struct qt_stmt *s)
{
    if (s == NULL || --s->owners > 0)
        return;
    qt_bytes_free(&s->text);
    qt_bytes_free(&s->types);
    qt_bytes_free(&s->names);
    free(s->has_long_data);
    free(s);
}

struct qt_stmt *qt_stmt_find(struct qt_decoder *d, uint32_t id)
{
    struct qt_stmt *s = d->stmts, *before = NULL;
    if (id == LAST_PREPARED) {
        s = d->last_stmt;
    } else {
        for (; s != NULL && !(s->answered && !s->failed && !s->closed && s->id == id); s = s->next)
            before = s;
        if (s != NULL && before != NULL) { /* move the found statement to the front of the list */
            before->next = s->next;
            s->next = d->stmts;
            d->stmts = s;
        }
    }
    if (s != NULL)
        s->owners++;
    return s;
}

void qt_stmt_close(struct qt_decoder *d, struct qt_stmt *s)
{
    s->closed = 1;
    for (struct qt_stmt **at = &d->stmts; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            qt_stmt_drop(s);
            return;
        }
}

void qt_stmt_forget_all(struct qt_decoder *d)
{
    while (d->stmts != NULL) {
        struct qt_stmt *s = d->stmts;
        d->stmts = s->next;
        s->closed = 1;
        qt_stmt_drop(s);
    }
}

static void note_long_data(struct qt_stmt *s, const struct qt_pending_command *c)
{
    struct qt_reading r = qt_reading(c->payload.p + 4, c->payload.len - 4);
    uint64_t param = qt_take_int(&r, 2);
    if (s->has_long_data == NULL && s->params > 0)
        s->has_long_data = calloc(s->params, 1);
    if (!r.bad && s->has_long_data != NULL && param < s->params)
        s->has_long_data[param] = 1;
}

static void reset_long_data(struct qt_stmt *s)
{
    if (s->has_long_data != NULL)
        memset(s->has_long_data, 0, s->params);
}

/* Writes a letter and the unchanged packet from offset `from`. For a known statement, `from` is the offset after the
 * statement id. */
static int as_it_was(struct qt_decoder *d, const struct qt_pending_command *c, char letter, size_t from)
{
    d->params.len = 0;
    from = from < c->payload.len ? from : c->payload.len;
    int bad = qt_bytes_add(&d->params, &letter, 1);
    return from < c->payload.len ? bad | qt_bytes_add(&d->params, c->payload.p + from, c->payload.len - from) : bad;
}

static int of_stmt(struct qt_decoder *d, struct qt_pending_command *c)
{
    int bad = 0;
    if (c->stmt == NULL || c->stmt->failed || c->payload.len < 4) { /* the PREPARE came before the capture, or failed */
        if (c->type == COM_STMT_CLOSE || c->type == COM_STMT_RESET)
            return as_it_was(d, c, 'R', 0) == 0 ? QT_OK : -1;
        return as_it_was(d, c, 'R', 0) == 0 && c->stmt != NULL ? QT_OK : -1;
    }
    switch (c->type) {
    case COM_STMT_EXECUTE:
        bad = qt_execution_write(d, c);
        if (bad != 0)
            (void)as_it_was(d, c, 'R', 0);
        if (c->whole)
            reset_long_data(c->stmt);
        return bad;
    case COM_STMT_BULK_EXECUTE:
        bad = qt_bulk_write(d, c);
        if (bad != 0)
            (void)as_it_was(d, c, 'R', 0);
        return bad;
    case COM_STMT_SEND_LONG_DATA:
        note_long_data(c->stmt, c);
        return as_it_was(d, c, 'L', 4);
    case COM_STMT_FETCH:
        return as_it_was(d, c, 'F', 4);
    case COM_STMT_RESET:
        reset_long_data(c->stmt);
        return 1;
    default:
        return 1;
    }
}

/* Writes the parameters of a command, without files. */
static int write_own(struct qt_decoder *d, struct qt_pending_command *c)
{
    switch (c->type) {
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_FETCH:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
        return of_stmt(d, c);
    case COM_QUERY:
        return c->payload.len > 0 ? as_it_was(d, c, 'A', 0) : 1;
    case COM_SET_OPTION:
    case COM_PROCESS_KILL:
    case COM_REFRESH:
    case COM_FIELD_LIST:
        return as_it_was(d, c, 'C', 0);
    case COM_CHANGE_USER:
        d->params.len = 0;
        return qt_write_collation((struct qt_span){c->payload.p, c->payload.len}, &d->params);
    default:
        return 1;
    }
}

/* Writes the files of LOCAL INFILE. 'I': one file and no other parameters. 'S': the other parameters with a lenenc
 * length, then each file with a lenenc length. */
static int write_files(struct qt_decoder *d, const struct qt_pending_command *c)
{
    struct qt_bytes *out = &d->params;
    struct qt_bytes own = *out;
    size_t at = 0;
    int bad = 0;
    if (own.len == 0 && c->file_ends.len == 8) {
        bad = qt_bytes_add(out, "I", 1);
        return c->file.len > 0 ? bad | qt_bytes_add(out, c->file.p, c->file.len) : bad;
    }
    *out = (struct qt_bytes){NULL, 0, 0};
    bad = qt_bytes_add(out, "S", 1) | qt_bytes_add_lenenc(out, own.len);
    if (own.len > 0)
        bad |= qt_bytes_add(out, own.p, own.len);
    for (size_t i = 0; i < c->file_ends.len && !bad; i += 8) {
        size_t end = (size_t)qt_get_le(c->file_ends.p + i, 8);
        bad = qt_bytes_add_lenenc(out, end - at);
        if (end > at && !bad)
            bad = qt_bytes_add(out, c->file.p + at, end - at);
        at = end;
    }
    qt_bytes_free(&own);
    return bad;
}

int qt_stmt_write_params(struct qt_decoder *d, struct qt_pending_command *c)
{
    d->params.len = 0;
    if (d->params.room > KEEP_BYTES)
        qt_bytes_free(&d->params);
    int code = write_own(d, c);
    if (c->file_ends.len == 0 || code < 0)
        return code;
    return write_files(d, c) != 0 ? -1 : QT_OK;
}

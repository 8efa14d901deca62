/* SPDX-License-Identifier: Apache-2.0 */
/* Queue of pending commands:
 *
 *   push -> [ first | ... | last ]     a ring that grows
 *              |
 *            finish: report session (once) -> report event -> update the session: schema, account, statements */
#include "protocol/pending.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "protocol/login_packets.h"
#include "protocol/prepared_statements.h"

static const char *name_of(int type)
{
    static const char *const names[] = {
        [COM_QUIT] = "quit",
        [COM_INIT_DB] = "init_db",
        [COM_QUERY] = "query",
        [COM_FIELD_LIST] = "field_list",
        [COM_REFRESH] = "refresh",
        [COM_SHUTDOWN] = "shutdown",
        [COM_STATISTICS] = "statistics",
        [COM_PROCESS_INFO] = "process_info",
        [COM_PROCESS_KILL] = "process_kill",
        [COM_DEBUG] = "debug",
        [COM_PING] = "ping",
        [COM_CHANGE_USER] = "change_user",
        [COM_BINLOG_DUMP] = "binlog_dump",
        [COM_REGISTER_SLAVE] = "register_slave",
        [COM_STMT_PREPARE] = "prepare",
        [COM_STMT_EXECUTE] = "execute",
        [COM_STMT_SEND_LONG_DATA] = "long_data",
        [COM_STMT_CLOSE] = "close_stmt",
        [COM_STMT_RESET] = "reset_stmt",
        [COM_SET_OPTION] = "set_option",
        [COM_STMT_FETCH] = "fetch",
        [COM_BINLOG_DUMP_GTID] = "binlog_dump",
        [COM_RESET_CONNECTION] = "reset_connection",
    };
    if (type < 0)
        return "connect";
    if (type == COM_STMT_BULK_EXECUTE)
        return "bulk_execute";
    const char *name = (size_t)type < sizeof names / sizeof *names ? names[type] : NULL;
    return name != NULL ? name : "other";
}

static int grow(struct qt_decoder *d)
{
    if (d->n_pending < d->pending_room)
        return 0;
    size_t room = d->pending_room > 0 ? d->pending_room * 2 : 2;
    struct qt_pending_command *larger = calloc(room, sizeof *larger);
    if (larger == NULL)
        return -1;
    for (size_t i = 0; i < d->pending_room; i++)
        larger[i] = d->pending[(d->first_pending + i) % d->pending_room];
    free(d->pending);
    d->pending = larger;
    d->pending_room = room;
    d->first_pending = 0;
    return 0;
}

struct qt_pending_command *qt_pending_push(struct qt_decoder *d, int type, const struct qt_piece *piece)
{
    if (grow(d) != 0)
        return NULL;
    struct qt_pending_command *c = &d->pending[(d->first_pending + d->n_pending) % d->pending_room];
    struct qt_bytes kept[] = {c->text, c->payload, c->file, c->file_ends, c->error, c->schema, c->ids};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        qt_bytes_clear(&kept[i], KEEP_BYTES);
    *c = (struct qt_pending_command){
        .type = type,
        .name = name_of(type),
        .text = kept[0],
        .payload = kept[1],
        .file = kept[2],
        .file_ends = kept[3],
        .error = kept[4],
        .schema = kept[5],
        .ids = kept[6],
        .first_ns = piece->first_ns,
        .last_ns = piece->last_ns,
        .packet = piece->packet,
        .reply_first_ns = -1,
        .reply_last_ns = -1,
        .bytes = piece->n,
        .rows = -1,
        .affected = -1,
        .warnings = -1,
        .insert_id = -1,
        .errno_ = -1,
        .status = -1,
        .no_reply = type == COM_QUIT || type == COM_STMT_CLOSE || type == COM_STMT_SEND_LONG_DATA,
    };
    d->n_pending++;
    return c;
}

/* ---- effects of a successful command on the session ---- */

/* Returns whether the text is `USE name`. USE changes the schema, but MySQL reports the new schema only to clients that
 * track session state. */
static int is_use(const struct qt_bytes *text, struct qt_span *name)
{
    const char *p = text->p, *end = text->p + text->len;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (end - p < 5 || strncasecmp(p, "use", 3) != 0 || !(isspace((unsigned char)p[3]) || p[3] == '`'))
        return 0;
    for (p += 3; p < end && isspace((unsigned char)*p);)
        p++;
    while (end > p && (isspace((unsigned char)end[-1]) || end[-1] == ';'))
        end--;
    if (end - p >= 2 && *p == '`' && end[-1] == '`')
        p++, end--;
    *name = (struct qt_span){p, (size_t)(end - p)};
    return end > p && memchr(p, '`', (size_t)(end - p)) == NULL;
}

static int set_schema(struct qt_decoder *d, struct qt_span name)
{
    d->has_db = 1;
    return qt_bytes_set(&d->db, name);
}

static int apply_command(struct qt_decoder *d, struct qt_pending_command *c)
{
    struct qt_span name, user;
    int bad = 0, collation;
    if (c->type == COM_STMT_CLOSE && c->stmt != NULL)
        qt_stmt_close(d, c->stmt);
    if (c->type == COM_QUIT)
        d->quit_seen = 1;
    if (!c->whole || c->errno_ != 0)
        return QT_OK;
    if (c->cut) { /* the schema name may be truncated */
        int uses = c->type == COM_INIT_DB || (c->type == COM_QUERY && c->text.p != NULL && is_use(&c->text, &name));
        d->has_db = d->has_db && !uses;
    } else if (c->type == COM_INIT_DB) {
        bad = set_schema(d, (struct qt_span){c->payload.p, c->payload.len});
    } else if (c->type == COM_QUERY && !c->has_schema && c->text.p != NULL && is_use(&c->text, &name)) {
        bad = set_schema(d, name);
    } else if (c->type == COM_CHANGE_USER &&
               qt_parse_change_user((struct qt_span){c->payload.p, c->payload.len}, &user, &name, &collation) == 0) {
        bad = qt_bytes_set(&d->user, user) | set_schema(d, name);
        d->has_user = 1;
    }
    if (c->type == COM_CHANGE_USER || c->type == COM_RESET_CONNECTION)
        qt_stmt_forget_all(d);
    if (c->has_schema)
        bad |= set_schema(d, (struct qt_span){c->schema.p, c->schema.len});
    return bad ? QT_ENOMEM : QT_OK;
}

/* ---- reports ---- */

int qt_pending_report_session(struct qt_decoder *d)
{
    struct qt_span none = {NULL, 0};
    char charset[16] = "";
    if (d->charset >= 0)
        snprintf(charset, sizeof charset, "%d", d->charset);
    struct qt_decoded_session s = {
        .thread_id = d->thread_id,
        .user = d->has_user && d->login_user.p ? (struct qt_span){d->login_user.p, d->login_user.len} : none,
        .host = {d->host, strlen(d->host)},
        .db = d->connect_seen && d->login_db.p ? (struct qt_span){d->login_db.p, d->login_db.len} : none,
        .port = d->port,
        .client_flags = d->has_caps ? (int64_t)d->caps : -1,
        .charset = d->charset >= 0 ? (struct qt_span){charset, strlen(charset)} : none,
        .collation = d->charset,
        .attributes = d->has_attributes ? (struct qt_span){d->attributes.p, d->attributes.len} : none,
        .server_version = d->version.p ? (struct qt_span){d->version.p, d->version.len} : none,
        .connect_seen = d->connect_seen,
        .quit_seen = d->quit_seen,
        .encrypted = d->encrypted,
        .decrypted = d->decrypted,
        .tls_end = d->tls_end,
        .open_at_start = d->options.joined_midway,
    };
    d->session_told = 1;
    return d->sink.session(d->sink.self, d->options.connection, &s);
}

/* Returns the statement text of the event: the text of a query or prepare, or the prepared text of an execution. */
static struct qt_span statement_of(const struct qt_pending_command *c)
{
    if (c->type == COM_QUERY || c->type == COM_STMT_PREPARE)
        return qt_bytes_span(&c->text);
    int executes = c->type == COM_STMT_EXECUTE || c->type == COM_STMT_BULK_EXECUTE;
    return executes && c->stmt != NULL && c->stmt->text.p != NULL ? qt_bytes_span(&c->stmt->text)
                                                                  : (struct qt_span){NULL, 0};
}

static void tell_misfit(struct qt_decoder *d, const struct qt_pending_command *c)
{
    char message[160];
    size_t len = c->payload.len + 1;
    snprintf(
        message, sizeof message,
        "the execution does not match its prepared statement (parameters: %u). The mismatch begins at byte %zu of %zu",
        (unsigned)c->stmt->params, d->misfit, len);
    qt_decoder_problem(d, c->packet, "execution_does_not_fit", message, NULL, len);
}

static void add_params(struct qt_decoder *d, struct qt_pending_command *c, struct qt_decoded_event *e)
{
    d->misfit = 0;
    int understood = qt_stmt_write_params(d, c);
    if (understood == QT_OK || understood < 0)
        e->params = qt_bytes_span(&d->params);
    if (e->params.len > 0 && e->params.p[0] == 'R')
        e->flags |= QT_F_UNBOUND;
    if (understood < 0 && d->misfit > 0 && !c->cut)
        tell_misfit(d, c);
    else if (understood < 0)
        qt_decoder_problem(d, c->packet, "params_not_understood",
                           "the parameters do not match a known prepared statement", NULL, d->params.len);
}

static int tell_event(struct qt_decoder *d, struct qt_pending_command *c)
{
    struct qt_decoded_event e = {
        .command = c->name,
        .request_first_ns = c->first_ns,
        .request_last_ns = c->last_ns,
        .reply_first_ns = c->reply_first_ns,
        .reply_last_ns = c->whole ? c->reply_last_ns : -1,
        .host = {d->host, strlen(d->host)},
        .statement = statement_of(c),
        .stmt = c->stmt != NULL ? c->stmt->number : -1,
        .rows_sent = c->whole ? c->rows : -1,
        .rows_affected = c->whole ? c->affected : -1,
        .bytes_sent = c->whole && !c->no_reply ? (int64_t)c->reply_bytes : -1,
        .warnings = c->whole ? c->warnings : -1,
        .last_insert_id = c->whole ? c->insert_id : -1,
        .only_found = c->only_found,
        .errno_ = c->no_reply ? 0
                  : c->whole  ? c->errno_
                              : -1,
        .flags = c->cut || (!c->whole && c->state == REPLY_FILE) ? QT_F_TRUNCATED : 0,
        .no_backslash = !c->whole || c->status < 0 ? -1 : (c->status & SERVER_STATUS_NO_BACKSLASH_ESCAPES) != 0,
        .packet = c->packet,
    };
    if (d->has_user)
        e.user = qt_bytes_span(&d->user);
    if (c->type == COM_INIT_DB)
        e.db = qt_bytes_span(&c->payload); /* the requested schema, because a replay must request it as well */
    else if (d->has_db)
        e.db = qt_bytes_span(&d->db);
    if (c->whole && c->ids.len > 8)
        e.result_ids = qt_bytes_span(&c->ids);
    if (c->error.len > 0)
        e.error = qt_bytes_span(&c->error);
    if (c->whole && c->errno_ == 0)
        qt_checksum_text(&c->checksum, c->binary ? "binary" : "text", e.checksum);
    add_params(d, c, &e);
    return d->sink.event(d->sink.self, d->options.connection, &e);
}

/* ---- end of a command ---- */

int qt_pending_finish(struct qt_decoder *d)
{
    int code = QT_OK;
    do {
        struct qt_pending_command *c = qt_first_pending(d);
        c->whole |= c->no_reply;
        if (c->no_reply)
            c->errno_ = 0;
        if (!d->session_told)
            code = qt_pending_report_session(d);
        if (code == QT_OK)
            code = tell_event(d, c);
        if (code == QT_OK)
            code = apply_command(d, c);
        qt_stmt_drop(c->stmt);
        c->stmt = NULL;
        d->first_pending = (d->first_pending + 1) % d->pending_room;
        d->n_pending--;
    } while (code == QT_OK && d->n_pending > 0 && qt_first_pending(d)->no_reply &&
             !(d->n_pending == 1 && d->way[QT_WAY_CLIENT].goes_on));
    return code;
}

int qt_pending_give_up(struct qt_decoder *d)
{
    int code = QT_OK;
    while (d->n_pending > 0 && code == QT_OK) {
        qt_first_pending(d)->whole = 0;
        code = qt_pending_finish(d);
    }
    return code;
}

int qt_pending_lose(struct qt_decoder *d)
{
    if (d->phase == PHASE_DONE)
        return QT_OK;
    d->phase = PHASE_LOST;
    int code = qt_pending_give_up(d);
    for (int i = 0; i < 2; i++) {
        d->way[i].part.len = d->way[i].frame.len = d->way[i].skip = 0;
        d->way[i].goes_on = 0;
    }
    return code;
}

void qt_pending_free(struct qt_decoder *d)
{
    for (size_t i = 0; i < d->pending_room; i++) {
        struct qt_pending_command *c = &d->pending[i];
        struct qt_bytes *kept[] = {&c->text, &c->payload, &c->file, &c->file_ends, &c->error, &c->schema, &c->ids};
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            qt_bytes_free(kept[k]);
        qt_stmt_drop(c->stmt);
    }
    free(d->pending);
}

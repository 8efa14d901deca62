/* SPDX-License-Identifier: Apache-2.0 */
/* What the client asks: commands in the order of asking, kept until each has its answer; and what an answered one tells. */
#include <ctype.h>
#include <strings.h>

#include "wire_private.h"

const char *qt_wire_command_name(int type)
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

static struct qt_command *tail(struct qt_wire *w) { return &w->waiting[(w->first + w->n - 1) % w->room]; }

static int grow(struct qt_wire *w)
{
    if (w->n < w->room)
        return 0;
    size_t room = w->room > 0 ? w->room * 2 : 2;
    struct qt_command *larger = calloc(room, sizeof *larger);
    if (larger == NULL)
        return -1;
    for (size_t i = 0; i < w->room; i++)
        larger[i] = w->waiting[(w->first + i) % w->room];
    free(w->waiting);
    w->waiting = larger;
    w->room = room;
    w->first = 0;
    return 0;
}

/* Adds to what is kept of a command, up to the bound. */
static int keep(struct qt_wire *w, struct qt_command *c, struct qt_bytes *to, const void *p, size_t n)
{
    size_t most = w->options.largest_kept, have = c->text.len + c->payload.len + c->file.len;
    size_t room = have < most ? most - have : 0;
    if (n > room) {
        n = room;
        c->cut = 1;
    }
    return qt_bytes_add(to, p, n);
}

/* The SQL of a COM_QUERY stands behind its attributes, where both sides know of those. */
static struct qt_span sql_of(struct qt_wire *w, struct qt_command *c, const uint8_t *p, size_t n)
{
    struct qt_span whole = {(const char *)p, n};
    if (w->has_caps ? !(w->caps & CLIENT_QUERY_ATTRIBUTES) : !(n >= 2 && p[0] <= 8 && p[1] == 1))
        return whole;
    struct qt_reading r = qt_reading(p, n);
    uint64_t count = qt_take_lenenc(&r), sets = qt_take_lenenc(&r);
    if (r.bad || sets != 1 || count > 0xFFFF)
        return whole;
    if (count > 0) {
        const uint8_t *nulls = qt_take(&r, (count + 7) / 8);
        const uint8_t *types = r.p + 1;
        qt_take(&r, 1);
        for (uint64_t i = 0; i < count && !r.bad; i++) {
            qt_take(&r, 2);
            qt_take_string(&r);
        }
        struct qt_reading t = {types, r.p, r.bad};
        for (uint64_t i = 0; i < count && !r.bad; i++) {
            unsigned type = (unsigned)qt_take_int(&t, 2);
            qt_take_string(&t);
            if (!(nulls[i / 8] >> i % 8 & 1))
                qt_skip_value(&r, type);
        }
        if (r.bad)
            return whole;
        (void)keep(w, c, &c->payload, p, (size_t)(r.p - p));
    }
    return qt_take_rest(&r);
}

static int fill(struct qt_wire *w, struct qt_command *c, const uint8_t *p, size_t n)
{
    struct qt_span text = {(const char *)p, n};
    switch (c->type) {
    case COM_QUERY:
        text = sql_of(w, c, p, n);
        return keep(w, c, &c->text, text.p, text.len);
    case COM_STMT_PREPARE:
        c->stmt = qt_stmt_new(w);
        return c->stmt == NULL ? -1 : keep(w, c, &c->text, p, n);
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
    case COM_STMT_FETCH: {
        struct qt_reading r = qt_reading(p, n);
        uint32_t id = (uint32_t)qt_take_int(&r, 4);
        c->stmt = r.bad ? NULL : qt_stmt_find(w, id);
        c->binary = 1;
        return keep(w, c, &c->payload, p, n);
    }
    default:
        return keep(w, c, &c->payload, p, n);
    }
}

struct qt_command *qt_wire_push(struct qt_wire *w, int type, const struct qt_piece *piece)
{
    if (grow(w) != 0)
        return NULL;
    struct qt_command *c = &w->waiting[(w->first + w->n) % w->room];
    struct qt_bytes kept[] = {c->text, c->payload, c->file, c->error, c->schema};
    for (size_t i = 0; i < 5; i++)
        qt_bytes_clear(&kept[i], KEEP_BYTES);
    *c = (struct qt_command){
        .type = type, .name = qt_wire_command_name(type), .text = kept[0], .payload = kept[1], .file = kept[2],
        .error = kept[3], .schema = kept[4], .first_ns = piece->first_ns, .last_ns = piece->last_ns,
        .packet = piece->packet, .reply_first_ns = -1, .reply_last_ns = -1, .bytes = piece->n,
        .rows = -1, .affected = -1, .warnings = -1, .insert_id = -1, .errno_ = -1,
        .no_reply = type == COM_QUIT || type == COM_STMT_CLOSE || type == COM_STMT_SEND_LONG_DATA,
    };
    w->n++;
    return type < 0 || fill(w, c, piece->p + 1, piece->n - 1) == 0 ? c : NULL;
}

/* A command that no answer comes to is told when all before it are. */
static int tell_silent(struct qt_wire *w)
{
    struct qt_command *c = &w->waiting[w->first];
    return w->n > 0 && c->no_reply && !w->way[QT_WAY_CLIENT].goes_on ? qt_wire_finish(w) : QT_OK;
}

int qt_wire_client(struct qt_wire *w, const struct qt_piece *piece)
{
    struct qt_command *head = w->n > 0 ? &w->waiting[w->first] : NULL;
    if (head != NULL && head->state == REPLY_FILE) {
        head->last_ns = piece->last_ns;
        if (piece->n == 0)
            head->state = REPLY_FIRST;
        return keep(w, head, &head->file, piece->p, piece->n) == 0 ? QT_OK : QT_ENOMEM;
    }
    if (piece->continued) {
        if (w->n == 0)
            return QT_OK;
        struct qt_command *c = tail(w);
        c->last_ns = piece->last_ns;
        c->bytes += piece->n;
        struct qt_bytes *to = c->type == COM_QUERY || c->type == COM_STMT_PREPARE ? &c->text : &c->payload;
        return keep(w, c, to, piece->p, piece->n) == 0 ? tell_silent(w) : QT_ENOMEM;
    }
    if (piece->seq != 0 && w->n > 0 && tail(w)->type == COM_CHANGE_USER)
        return QT_OK; /* its authentication */
    if (piece->seq != 0 || piece->n == 0 || w->n >= MOST_WAITING) {
        qt_wire_problem(w, piece->packet, "not_a_command", "a command, which has sequence 0", piece->p,
                        piece->n < 32 ? piece->n : 32);
        return qt_wire_lose(w, piece->packet);
    }
    struct qt_command *c = qt_wire_push(w, piece->p[0], piece);
    if (c == NULL)
        return QT_ENOMEM;
    if (c->type == COM_BINLOG_DUMP || c->type == COM_BINLOG_DUMP_GTID) { /* from here on a stream of events */
        c->whole = 1;
        while (w->n > 0) {
            int code = qt_wire_finish(w);
            if (code != QT_OK)
                return code;
        }
        w->phase = PHASE_DONE;
        return QT_OK;
    }
    return tell_silent(w);
}

/* `USE name` as a statement: MySQL's server changes the schema, and tells only clients that track it. */
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

/* What a command that succeeded changes in the session. */
static int apply(struct qt_wire *w, struct qt_command *c)
{
    struct qt_span name;
    int bad = 0;
    if (c->type == COM_STMT_CLOSE && c->stmt != NULL)
        qt_stmt_close(w, c->stmt);
    if (c->type == COM_QUIT)
        w->quit_seen = 1;
    if (!c->whole || c->errno_ != 0)
        return QT_OK;
    if (c->type == COM_INIT_DB) {
        bad = qt_wire_set(&w->db, (struct qt_span){c->payload.p, c->payload.len});
        w->has_db = 1;
    } else if (c->type == COM_QUERY && !c->has_schema && c->text.p != NULL && is_use(&c->text, &name)) {
        bad = qt_wire_set(&w->db, name);
        w->has_db = 1;
    } else if (c->type == COM_CHANGE_USER && qt_wire_change_user_packet(w, c) == 0) {
        bad = qt_wire_set(&w->user, (struct qt_span){w->new_user.p, w->new_user.len}) |
              qt_wire_set(&w->db, (struct qt_span){w->new_db.p, w->new_db.len});
        w->has_user = w->has_db = 1;
    }
    if (c->type == COM_CHANGE_USER || c->type == COM_RESET_CONNECTION)
        qt_stmt_forget_all(w);
    if (c->has_schema) {
        bad |= qt_wire_set(&w->db, (struct qt_span){c->schema.p, c->schema.len});
        w->has_db = 1;
    }
    return bad ? QT_ENOMEM : QT_OK;
}

static struct qt_span span_of(const struct qt_bytes *b) { return (struct qt_span){b->p != NULL ? b->p : "", b->len}; }

/* The text of the event: a query's own, or what was prepared. */
static struct qt_span statement_of(const struct qt_command *c)
{
    if (c->type == COM_QUERY || c->type == COM_STMT_PREPARE)
        return span_of(&c->text);
    int executes = c->type == COM_STMT_EXECUTE || c->type == COM_STMT_BULK_EXECUTE;
    return executes && c->stmt != NULL && c->stmt->text.p != NULL ? span_of(&c->stmt->text) : (struct qt_span){NULL, 0};
}

static int tell(struct qt_wire *w, struct qt_command *c)
{
    struct qt_wire_event e = {
        .command = c->name,
        .request_first_ns = c->first_ns,
        .request_last_ns = c->last_ns,
        .reply_first_ns = c->reply_first_ns,
        .reply_last_ns = c->whole ? c->reply_last_ns : -1,
        .host = {w->host, strlen(w->host)},
        .statement = statement_of(c),
        .stmt = c->stmt != NULL ? c->stmt->number : -1,
        .rows_sent = c->whole ? c->rows : -1,
        .rows_affected = c->whole ? c->affected : -1,
        .bytes_sent = c->whole && !c->no_reply ? (int64_t)c->reply_bytes : -1,
        .warnings = c->whole ? c->warnings : -1,
        .last_insert_id = c->whole ? c->insert_id : -1,
        .errno_ = c->no_reply ? 0 : c->whole ? c->errno_ : -1,
        .flags = c->cut ? QT_F_TRUNCATED : 0,
        .packet = c->packet,
    };
    if (w->has_user)
        e.user = span_of(&w->user);
    if (c->type == COM_INIT_DB)
        e.db = span_of(&c->payload); /* the schema that is asked for: a replay asks for the same */
    else if (w->has_db)
        e.db = span_of(&w->db);
    if (c->error.len > 0)
        e.error = span_of(&c->error);
    if (c->whole && c->errno_ == 0)
        qt_checksum_text(&c->checksum, c->binary ? "binary" : "text", e.checksum);
    int understood = qt_stmt_params(w, c);
    if (understood == QT_OK || understood < 0)
        e.params = span_of(&w->params);
    if (e.params.len > 0 && e.params.p[0] == 'R')
        e.flags |= QT_F_UNBOUND;
    if (understood < 0)
        qt_wire_problem(w, c->packet, "params_not_understood", "parameters that fit a statement seen prepared", w->params.p,
                        w->params.len < 32 ? w->params.len : 32);
    return w->sink.event(w->sink.self, w->options.connection, &e);
}

int qt_wire_finish(struct qt_wire *w)
{
    int code = QT_OK;
    do {
        struct qt_command *c = &w->waiting[w->first];
        c->whole |= c->no_reply;
        if (c->no_reply)
            c->errno_ = 0;
        if (!w->session_told)
            code = qt_wire_tell_session(w);
        if (code == QT_OK)
            code = tell(w, c);
        if (code == QT_OK)
            code = apply(w, c);
        qt_stmt_drop(c->stmt);
        c->stmt = NULL;
        w->first = (w->first + 1) % w->room;
        w->n--;
    } while (code == QT_OK && w->n > 0 && w->waiting[w->first].no_reply && !(w->n == 1 && w->way[QT_WAY_CLIENT].goes_on));
    return code;
}

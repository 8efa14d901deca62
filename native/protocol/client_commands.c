/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the client's packets. Each packet is a new command, a continuation of the last command, or part of a LOCAL
 * INFILE file. At most options.largest_kept bytes of each command are kept. */
#include "protocol/client_commands.h"

#include "base/reading.h"
#include "protocol/pending.h"
#include "protocol/prepared_statements.h"

/* Appends bytes of a command, up to options.largest_kept bytes per command. */
static int keep(struct qt_decoder *d, struct qt_pending_command *c, struct qt_bytes *to, const void *p, size_t n)
{
    size_t most = d->options.largest_kept, have = c->text.len + c->payload.len + c->file.len;
    size_t room = have < most ? most - have : 0;
    if (n > room) {
        n = room;
        c->cut = 1;
    }
    return qt_bytes_add(to, p, n);
}

/* Returns the SQL of a COM_QUERY. Query attributes precede the SQL if client and server support them. */
static struct qt_span sql_of(struct qt_decoder *d, struct qt_pending_command *c, const uint8_t *p, size_t n)
{
    struct qt_span whole = {(const char *)p, n};
    if (d->has_caps ? !(d->caps & CLIENT_QUERY_ATTRIBUTES) : !(n >= 2 && p[0] <= 8 && p[1] == 1))
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
        (void)keep(d, c, &c->payload, p, (size_t)(r.p - p));
    }
    return qt_take_rest(&r);
}

static int fill(struct qt_decoder *d, struct qt_pending_command *c, const uint8_t *p, size_t n)
{
    struct qt_span text = {(const char *)p, n};
    switch (c->type) {
    case COM_QUERY:
        text = sql_of(d, c, p, n);
        return keep(d, c, &c->text, text.p, text.len);
    case COM_STMT_PREPARE:
        c->stmt = qt_stmt_new(d);
        return c->stmt == NULL ? -1 : keep(d, c, &c->text, p, n);
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
    case COM_STMT_FETCH: {
        struct qt_reading r = qt_reading(p, n);
        uint32_t id = (uint32_t)qt_take_int(&r, 4);
        c->stmt = r.bad ? NULL : qt_stmt_find(d, id);
        c->binary = 1;
        return keep(d, c, &c->payload, p, n);
    }
    default:
        return keep(d, c, &c->payload, p, n);
    }
}

/* Reports the event of the first pending command, if this command is complete and gets no reply. */
static int tell_silent(struct qt_decoder *d)
{
    struct qt_pending_command *c = qt_first_pending(d);
    return d->n_pending > 0 && c->no_reply && !d->way[QT_WAY_CLIENT].goes_on ? qt_pending_finish(d) : QT_OK;
}

int qt_commands_take(struct qt_decoder *d, const struct qt_piece *piece)
{
    struct qt_pending_command *head = d->n_pending > 0 ? qt_first_pending(d) : NULL;
    if (head != NULL && head->state == REPLY_FILE) {
        int is_end = piece->n == 0 && !piece->continued;
        head->last_ns = piece->last_ns;
        if (is_end)
            head->state = REPLY_FIRST;
        int bad = is_end ? qt_bytes_add_int(&head->file_ends, head->file.len, 8)
                         : keep(d, head, &head->file, piece->p, piece->n);
        return bad == 0 ? QT_OK : QT_ENOMEM;
    }
    if (piece->continued) {
        if (d->n_pending == 0)
            return QT_OK;
        struct qt_pending_command *c = qt_last_pending(d);
        c->last_ns = piece->last_ns;
        c->bytes += piece->n;
        struct qt_bytes *to = c->type == COM_QUERY || c->type == COM_STMT_PREPARE ? &c->text : &c->payload;
        return keep(d, c, to, piece->p, piece->n) == 0 ? tell_silent(d) : QT_ENOMEM;
    }
    if (piece->seq != 0 && d->n_pending > 0 && qt_last_pending(d)->type == COM_CHANGE_USER)
        return QT_OK; /* authentication data of COM_CHANGE_USER */
    if (piece->seq != 0 || piece->n == 0 || d->n_pending >= MAX_PENDING) {
        qt_decoder_packet_problem(d, piece, "not_a_command", "expected a command packet with sequence number 0");
        return qt_pending_lose(d);
    }
    struct qt_pending_command *c = qt_pending_push(d, piece->p[0], piece);
    if (c == NULL || fill(d, c, piece->p + 1, piece->n - 1) != 0)
        return QT_ENOMEM;
    if (c->type == COM_BINLOG_DUMP || c->type == COM_BINLOG_DUMP_GTID) { /* binary log events follow */
        c->whole = 1;
        while (d->n_pending > 0) {
            int code = qt_pending_finish(d);
            if (code != QT_OK)
                return code;
        }
        d->phase = PHASE_DONE;
        return QT_OK;
    }
    return tell_silent(d);
}

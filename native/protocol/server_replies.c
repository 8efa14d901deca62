/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the server's packets as the reply to the first pending command.
 *
 *   OK | ERR | EOF                                                          done, or the next result
 *   columns n -> n definitions -> [EOF] -> rows -> EOF or OK or ERR          a result set
 *   LOCAL INFILE -> the client's file -> OK                                 (client_commands.c keeps it)
 *   PREPARE: OK -> [parameters] [EOF] [columns] [EOF]
 *
 * Rows are counted and hashed in place. All results of a command (multi-statements, CALL) form one event. Row counts
 * and affected rows are added up. The event has the warnings of the last result and the first error. */
#include "protocol/server_replies.h"

#include "base/reading.h"
#include "protocol/pending.h"

#define MAX_RESULTS 100001 /* QT_MAX_SPLIT of sql/split.h, plus one */

static int64_t plus(int64_t sum, uint64_t more)
{
    return (sum < 0 ? 0 : sum) + (more > INT64_MAX / 2 ? 0 : (int64_t)more);
}

static void track_schema(struct qt_pending_command *c, struct qt_reading *r)
{
    struct qt_span changes = qt_take_string(r);
    struct qt_reading in = qt_reading(changes.p != NULL ? changes.p : "", changes.len);
    while (qt_left(&in) > 0 && !in.bad) {
        uint64_t type = qt_take_int(&in, 1);
        struct qt_span data = qt_take_string(&in);
        if (type != SESSION_TRACK_SCHEMA || in.bad)
            continue;
        struct qt_reading inner = qt_reading(data.p, data.len);
        struct qt_span name = qt_take_string(&inner);
        if (!inner.bad)
            c->has_schema = qt_bytes_set(&c->schema, name) == 0;
    }
}

/* Returns whether an upsert found every row. The server writes the info text in its configured language. The text is
 * empty for a single row:
 *
 *   Records: 2  Duplicates: 2  Warnings: 0
 *
 * An updated row counts as 2 affected rows. An unchanged row counts as 1 if the client counts found rows. */
static int is_only_found(const struct qt_decoder *d, struct qt_span info, uint64_t affected)
{
    uint64_t numbers[2] = {0, 0};
    int n = 0, in_number = 0;

    for (size_t i = 0; i < info.len && n <= 2; i++) {
        int is_digit = info.p[i] >= '0' && info.p[i] <= '9';
        if (is_digit && !in_number)
            n++;
        if (is_digit && n <= 2)
            numbers[n - 1] = numbers[n - 1] * 10 + (uint64_t)(info.p[i] - '0');
        in_number = is_digit;
    }
    if (n < 2)
        return affected != 1;
    return numbers[0] == numbers[1] || (!(d->caps & CLIENT_FOUND_ROWS) && affected == 2 * numbers[1]);
}

int qt_reply_read_ok(const struct qt_decoder *d, struct qt_pending_command *c, const uint8_t *p, size_t n,
                     unsigned *status)
{
    struct qt_reading r = qt_reading(p + 1, n - 1);
    uint64_t affected = qt_take_lenenc(&r), insert_id = qt_take_lenenc(&r);
    *status = (unsigned)qt_take_int(&r, 2);
    uint64_t warnings = qt_take_int(&r, 2);
    if (r.bad)
        return -1;
    c->status = (int)*status;
    struct qt_span info = d->caps & CLIENT_SESSION_TRACK ? qt_take_string(&r) : qt_take_rest(&r);
    if (p[0] == REPLY_OK) { /* an OK after rows contains 0 */
        c->affected = plus(c->affected, affected);
        c->only_found = is_only_found(d, info, affected);
        if (c->ids.len >= 8)
            qt_put_le(c->ids.p + c->ids.len - 8,
                      insert_id == 0 || !c->only_found ? insert_id : (insert_id & INT64_MAX) | QT_ONLY_FOUND, 8);
    }
    c->insert_id = insert_id > 0 ? (int64_t)(insert_id & INT64_MAX) : c->insert_id;
    c->warnings = (int64_t)warnings;
    c->errno_ = c->errno_ > 0 ? c->errno_ : 0;
    if (d->caps & CLIENT_SESSION_TRACK && qt_left(&r) > 0 && *status & SERVER_SESSION_STATE_CHANGED)
        track_schema(c, &r);
    return 0;
}

void qt_reply_read_err(struct qt_pending_command *c, const uint8_t *p, size_t n)
{
    struct qt_reading r = qt_reading(p + 1, n - 1);
    int64_t number = (int64_t)qt_take_int(&r, 2);
    if (qt_left(&r) >= 6 && *r.p == '#')
        qt_take(&r, 6);
    struct qt_span text = qt_take_rest(&r);
    if (c->errno_ > 0)
        return;
    c->errno_ = number;
    c->error.len = 0;
    if (text.p != NULL)
        (void)qt_bytes_add(&c->error, text.p, text.len < 512 ? text.len : 512);
}

static int finish(struct qt_decoder *d, struct qt_pending_command *c)
{
    c->whole = 1;
    return qt_pending_finish(d);
}

/* Handles the server status of an OK or EOF: another result follows, or the reply is complete. */
static int go_on_or_finish(struct qt_decoder *d, struct qt_pending_command *c, unsigned status)
{
    if (status & SERVER_MORE_RESULTS_EXISTS) {
        c->state = REPLY_FIRST;
        return QT_OK;
    }
    return finish(d, c);
}

static int report_confusion(struct qt_decoder *d, const struct qt_piece *piece)
{
    qt_decoder_packet_problem(d, piece, "answer_not_understood", "expected a reply that matches the command");
    return qt_pending_lose(d);
}

static int is_eof(const struct qt_piece *piece) { return piece->n == 5 && piece->p[0] == REPLY_EOF; }

static unsigned eof_status(const struct qt_piece *piece) { return (unsigned)(piece->p[3] | piece->p[4] << 8); }

/* Takes the EOF that ends the rows, or the definitions of a cursor. */
static int take_eof(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    c->errno_ = c->errno_ > 0 ? c->errno_ : 0;
    c->warnings = piece->p[1] | piece->p[2] << 8;
    c->status = (int)eof_status(piece);
    return go_on_or_finish(d, c, eof_status(piece));
}

static int take_err(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    if (piece->n >= 3 && piece->p[1] == 0xFF && piece->p[2] == 0xFF)
        return QT_OK; /* progress report of MariaDB */
    qt_reply_read_err(c, piece->p, piece->n);
    return finish(d, c);
}

static int take_column_count(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    struct qt_reading r = qt_reading(piece->p, piece->n);
    int follows = 1;
    if (d->caps & CLIENT_OPTIONAL_METADATA && d->caps & CLIENT_LONG_PASSWORD)
        follows = (int)qt_take_int(&r, 1);
    uint64_t n = qt_take_lenenc(&r);
    if (d->caps & MARIADB_CACHE_METADATA && qt_left(&r) > 0)
        follows = (int)qt_take_int(&r, 1);
    if (r.bad || n == 0 || n > 65535)
        return report_confusion(d, piece);
    qt_checksum_result(&c->checksum, n);
    c->rows = plus(c->rows, 0);
    c->left = follows ? n : 0;
    c->state = follows ? REPLY_COLUMNS : d->deprecate_eof == 1 ? REPLY_ROWS : REPLY_COLUMNS_EOF;
    return QT_OK;
}

static int take_prepared(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    struct qt_reading r = qt_reading(piece->p + 1, piece->n - 1);
    uint32_t id = (uint32_t)qt_take_int(&r, 4);
    uint64_t columns = qt_take_int(&r, 2), params = qt_take_int(&r, 2);
    qt_take(&r, 1);
    uint64_t warnings = qt_left(&r) >= 2 ? qt_take_int(&r, 2) : 0;
    int follows = d->caps & CLIENT_OPTIONAL_METADATA && d->caps & CLIENT_LONG_PASSWORD && qt_left(&r) > 0
                      ? (int)qt_take_int(&r, 1)
                      : 1;
    struct qt_stmt *s = c->stmt;
    if (r.bad || s == NULL)
        return report_confusion(d, piece);
    s->id = id;
    s->answered = 1;
    s->params = (uint16_t)params;
    s->columns = (uint16_t)columns;
    if (!c->cut && qt_bytes_set(&s->text, (struct qt_span){c->text.p != NULL ? c->text.p : "", c->text.len}) != 0)
        return QT_ENOMEM;
    c->warnings = (int64_t)warnings;
    c->errno_ = 0;
    c->left = follows ? params : 0;
    c->columns_left = follows ? columns : 0;
    if (c->left == 0) {
        c->left = c->columns_left;
        c->columns_left = 0;
    }
    c->state = REPLY_PARAMS;
    return c->left == 0 ? finish(d, c) : QT_OK;
}

/* Counts one definition. An EOF follows each list of definitions, unless CLIENT_DEPRECATE_EOF was negotiated. */
static int take_definition(struct qt_decoder *d, struct qt_pending_command *c)
{
    if (--c->left > 0)
        return QT_OK;
    if (d->deprecate_eof != 1) {
        c->state = REPLY_PARAMS_EOF;
        return QT_OK;
    }
    c->left = c->columns_left;
    c->columns_left = 0;
    return c->left == 0 ? finish(d, c) : QT_OK;
}

static int begin_next_list(struct qt_decoder *d, struct qt_pending_command *c)
{
    c->state = REPLY_PARAMS;
    c->left = c->columns_left;
    c->columns_left = 0;
    return c->left == 0 ? finish(d, c) : QT_OK;
}

static int take_ok(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    unsigned status = 0;
    if (qt_reply_read_ok(d, c, piece->p, piece->n, &status) != 0)
        return report_confusion(d, piece);
    return go_on_or_finish(d, c, status);
}

static int take_row(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    uint8_t byte = piece->n > 0 ? piece->p[0] : 0;
    if (!piece->continued && piece->n > 0) {
        if (byte == REPLY_ERR)
            return take_err(d, c, piece);
        if (is_eof(piece))
            return take_eof(d, c, piece);
        if (byte == REPLY_EOF && !piece->more && d->deprecate_eof != 0 && piece->n >= 7)
            return take_ok(d, c, piece);
    }
    if (c->type == COM_FIELD_LIST)
        return QT_OK; /* definitions are not rows */
    if (piece->continued || piece->more)
        qt_checksum_part(&c->checksum, piece->p, piece->n, piece->more);
    else
        qt_checksum_row(&c->checksum, piece->p, piece->n);
    c->rows += !piece->continued;
    return QT_OK;
}

/* Begins a result. A query has one result per statement. */
static int begin_result(struct qt_pending_command *c)
{
    return c->type == COM_QUERY && c->ids.len < MAX_RESULTS * 8 ? qt_bytes_add_int(&c->ids, 0, 8) : 0;
}

static int take_first(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    if (piece->n == 0)
        return report_confusion(d, piece);
    uint8_t byte = piece->p[0];
    if (c->type == COM_STATISTICS) {
        c->errno_ = byte == REPLY_ERR ? c->errno_ : 0;
        return byte == REPLY_ERR ? take_err(d, c, piece) : finish(d, c);
    }
    if (byte == REPLY_ERR) {
        if (c->type == COM_STMT_PREPARE && c->stmt != NULL)
            c->stmt->failed = c->stmt->answered = 1;
        return take_err(d, c, piece);
    }
    if (c->type == COM_CHANGE_USER)
        return byte == REPLY_OK ? take_ok(d, c, piece) : QT_OK; /* other packets continue the authentication */
    if (c->type == COM_STMT_PREPARE && byte == REPLY_OK)
        return take_prepared(d, c, piece);
    if (c->type == COM_STMT_FETCH || c->type == COM_FIELD_LIST) {
        c->state = REPLY_ROWS;
        c->rows = plus(c->rows, 0);
        return take_row(d, c, piece); /* handles rows, definitions and the end of the result */
    }
    if (byte != REPLY_INFILE && begin_result(c) != 0)
        return QT_ENOMEM;
    if (byte == REPLY_OK)
        return take_ok(d, c, piece);
    if (is_eof(piece)) {
        c->errno_ = 0;
        c->status = (int)eof_status(piece);
        return go_on_or_finish(d, c, eof_status(piece));
    }
    if (byte == REPLY_EOF && d->deprecate_eof != 0 && piece->n >= 7) /* an OK in place of an EOF, as for SET_OPTION */
        return take_ok(d, c, piece);
    if (byte == REPLY_INFILE && (c->type == COM_QUERY || c->type == COM_STMT_EXECUTE)) {
        c->state = REPLY_FILE;
        return QT_OK;
    }
    int has_rows = c->type == COM_QUERY || c->type == COM_STMT_EXECUTE || c->type == COM_STMT_BULK_EXECUTE ||
                   c->type == COM_PROCESS_INFO;
    return has_rows ? take_column_count(d, c, piece) : report_confusion(d, piece);
}

/* Takes the first packet after the definitions. If the capabilities are unknown, an EOF at this position shows that the
 * connection uses EOF packets. */
static int take_after_columns(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    c->state = REPLY_ROWS;
    if (is_eof(piece)) {
        d->deprecate_eof = 0;
        return eof_status(piece) & SERVER_STATUS_CURSOR_EXISTS ? take_eof(d, c, piece) : QT_OK;
    }
    if (d->deprecate_eof == 0)
        return piece->n > 0 && piece->p[0] == REPLY_ERR ? take_err(d, c, piece) : report_confusion(d, piece);
    d->deprecate_eof = 1;
    return take_row(d, c, piece);
}

static int take_answer(struct qt_decoder *d, struct qt_pending_command *c, const struct qt_piece *piece)
{
    switch (c->state) {
    case REPLY_FIRST:
        return take_first(d, c, piece);
    case REPLY_COLUMNS:
        if (--c->left == 0)
            c->state = d->deprecate_eof == 1 ? REPLY_ROWS : REPLY_COLUMNS_EOF;
        return QT_OK;
    case REPLY_COLUMNS_EOF:
        return take_after_columns(d, c, piece);
    case REPLY_ROWS:
        return take_row(d, c, piece);
    case REPLY_PARAMS:
        return take_definition(d, c);
    case REPLY_PARAMS_EOF:
        return begin_next_list(d, c);
    default: /* during LOCAL INFILE, the server may only send an error */
        return piece->n > 0 && piece->p[0] == REPLY_ERR ? take_err(d, c, piece) : report_confusion(d, piece);
    }
}

int qt_replies_take(struct qt_decoder *d, const struct qt_piece *piece)
{
    if (d->n_pending == 0) { /* no pending command: a server's closing message, or the rest of a reply */
        if (piece->n > 0 && piece->p[0] == REPLY_ERR)
            return QT_OK;
        return report_confusion(d, piece);
    }
    struct qt_pending_command *c = qt_first_pending(d);
    if (c->reply_first_ns < 0)
        c->reply_first_ns = piece->first_ns;
    c->reply_last_ns = piece->last_ns;
    c->reply_bytes += piece->n + 4;
    return take_answer(d, c, piece);
}

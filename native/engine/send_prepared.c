/* SPDX-License-Identifier: Apache-2.0 */
/* The requests for a prepared statement of the tape:
 *
 *   EXECUTE    id + flags, iterations, NULL bitmap, 1, types, values: the tape has no id, so it is put in front
 *   bulk       the same on MariaDB; on MySQL each row becomes an EXECUTE, and their answers are added up
 *   query      if the target cannot prepare the statement (BEGIN on MySQL): its text in place of each EXECUTE
 *   attributes if client and server have agreed on them, parameters have names (query_attributes.h); else attributes
 *              are removed and counted */
#include "engine/send_prepared.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/reading.h"
#include "engine/connection.h"
#include "engine/query_attributes.h"
#include "engine/statements.h"
#include "engine/verify.h"

#define ER_UNSUPPORTED_PS 1295
#define COM_BULK ((enum enum_server_command)0xFA)
#define CAN_BULK (1UL << 2) /* MARIADB_CLIENT_STMT_BULK_OPERATIONS, an extended capability */

static void finish_answer(struct qt_connection *c, MYSQL_STMT *stmt, struct qt_answer *a)
{
    qt_connection_finish(c, a, (int)mysql_stmt_errno(stmt), mysql_stmt_error(stmt));
}

int qt_connection_is_prepared(struct qt_connection *c, int64_t number) { return qt_statements_find(c, number) != NULL; }

int qt_connection_has_cursor(struct qt_connection *c, int64_t number)
{
    struct qt_prepared *p = qt_statements_find(c, number);
    return p != NULL && p->stmt != NULL && p->stmt->cursor_exists;
}

void qt_connection_prepare(struct qt_connection *c, int64_t number, const char *sql, size_t len, int failed_on_tape,
                           struct qt_answer *a)
{
    MYSQL_STMT *stmt = mysql_stmt_init(c->mysql);
    memset(a, 0, sizeof *a);
    if (stmt == NULL) {
        qt_connection_finish(c, a, (int)mysql_errno(c->mysql), mysql_error(c->mysql));
        return;
    }
    int failed = mysql_stmt_prepare(stmt, sql, (unsigned long)len) != 0;
    finish_answer(c, stmt, a);
    a->first_ns = a->done_ns;
    if (failed || qt_statements_add(c, number, stmt) != 0)
        mysql_stmt_close(stmt);
    if (a->error == ER_UNSUPPORTED_PS && !failed_on_tape && qt_statements_add_text(c, number, sql, len) == 0)
        a->error = 0;
}

/* Sends a command about one statement. `request` begins with room for the statement's id. Unless `silent`, also reads
 * an answer of one packet. */
static int send_command(struct qt_connection *c, MYSQL_STMT *stmt, enum enum_server_command command, char *request,
                        size_t len, int silent)
{
    qt_put_le(request, stmt->stmt_id, 4);
    return c->mysql->methods->db_command(c->mysql, command, request, len, (my_bool)silent, stmt);
}

/* Resets the library's statement, so that the library does not assume an open result of the previous execution. */
static void close_results(struct qt_connection *c, MYSQL_STMT *stmt)
{
    stmt->state = MYSQL_STMT_PREPARED;
    stmt->cursor_exists = 0;
    stmt->result_cursor = stmt->result.data = NULL;
    stmt->result.rows = 0;
    c->mysql->status = MYSQL_STATUS_READY;
}

static int send_request(struct qt_connection *c, MYSQL_STMT *stmt, enum enum_server_command command, char *request,
                        size_t len)
{
    close_results(c, stmt);
    return send_command(c, stmt, command, request, len, 1);
}

/* The library only handles cursors that it requested itself. The tape's client requested this cursor, so the server's
 * flag decides. */
static int take_cursor(struct qt_connection *c, MYSQL_STMT *stmt)
{
    if (!(c->mysql->server_status & SERVER_STATUS_CURSOR_EXISTS))
        return 0;
    stmt->cursor_exists = 1;
    c->mysql->status = MYSQL_STATUS_READY;
    return 1;
}

/* Returns the warning count of the last result, as on the tape. The library ignores the count in the EOF packet after
 * rows. The packet is still in its buffer. */
static int64_t count_warnings_behind_rows(const struct qt_connection *c)
{
    const unsigned char *eof = c->mysql->net.read_pos;

    return eof != NULL && eof[0] == 254 ? eof[1] | eof[2] << 8 : 0;
}

static void begin_cursor(struct qt_connection *c, MYSQL_STMT *stmt, struct qt_answer *a)
{
    a->warnings = mysql_warning_count(c->mysql);
    if (c->verify) {
        qt_checksum_result(&a->sum, mysql_stmt_field_count(stmt));
        a->binary = 1;
    }
}

static void take_rows(struct qt_connection *c, MYSQL_STMT *stmt, struct qt_answer *a)
{
    a->binary = 1;
    qt_verify_into(c->verify ? &a->sum : NULL, mysql_stmt_field_count(stmt));
    int end;
    while ((end = mysql_stmt_fetch(stmt)) == 0)
        a->rows++;
    if (end == MYSQL_NO_DATA)
        a->warnings = count_warnings_behind_rows(c);
    qt_verify_into(NULL, 0);
}

/* Receives all results of one execution. */
static void receive_results(struct qt_connection *c, MYSQL_STMT *stmt, struct qt_answer *a)
{
    int failed = c->mysql->methods->db_read_execute_response(stmt) != 0;
    while (!failed) {
        if (mysql_stmt_field_count(stmt) == 0) {
            a->affected += (int64_t)mysql_stmt_affected_rows(stmt);
            a->warnings = mysql_warning_count(c->mysql);
        } else if (!take_cursor(c, stmt)) {
            take_rows(c, stmt, a);
        } else {
            begin_cursor(c, stmt, a);
        }
        if (mysql_stmt_errno(stmt) != 0)
            break;
        /* The library keeps the status after rows in the statement, and the status before rows in the connection. */
        if (!mysql_stmt_more_results(stmt))
            break;
        failed = mysql_stmt_next_result(stmt) > 0;
    }
}

/* Removes query attributes: the parameters after the statement's own parameters. Returns 0, or 1 if the request does
 * not fit. */
static int cut_attributes(uint64_t n, struct qt_reading r, uint64_t all, const uint8_t *absent, struct qt_bytes *out)
{
    const uint8_t *head = qt_take(&r, 5), *nulls = qt_take(&r, (all + 7) / 8);
    qt_take(&r, 1);
    const uint8_t *types = qt_take(&r, all * 2), *values = r.p;
    if (r.bad || all < n)
        return 1;
    for (uint64_t i = 0; i < n; i++)
        if (!(nulls[i / 8] >> i % 8 & 1) && !(absent[i / 8] >> i % 8 & 1))
            qt_skip_value(&r, types[i * 2]);
    int bad = r.bad | qt_bytes_add(out, "\0\0\0\0", 4) | qt_bytes_add(out, head, 5);
    if (n > 0)
        bad |= qt_bytes_add(out, nulls, (n + 7) / 8) | qt_bytes_add(out, "\1", 1) | qt_bytes_add(out, types, n * 2) |
               qt_bytes_add(out, values, (size_t)(r.p - values));
    return bad != 0;
}

/* Converts one row of a bulk execution to an EXECUTE. Returns 0, or 1 for DEFAULT and IGNORE, which an EXECUTE cannot
 * express. */
static int make_row_request(struct qt_reading *r, const uint8_t *types, uint64_t n, struct qt_bytes *out)
{
    static const char HEAD[] = "\0\0\0\0\0\1\0\0\0"; /* room for the id, no cursor, one iteration */
    struct qt_bytes values = {0};
    int bad = 0;
    out->len = 0;
    bad |= qt_bytes_add(out, HEAD, 9);
    for (uint64_t i = 0; i < (n + 7) / 8; i++)
        bad |= qt_bytes_add(out, "\0", 1);
    for (uint64_t i = 0; i < n && !r->bad && !bad; i++) {
        uint64_t indicator = qt_take_int(r, 1);
        const uint8_t *from = r->p;
        if (indicator == 0) {
            qt_skip_value(r, types[i * 2]);
            bad |= r->bad ? 1 : qt_bytes_add(&values, from, (size_t)(r->p - from));
        } else if (indicator == 1) {
            out->p[9 + i / 8] = (char)(out->p[9 + i / 8] | 1 << i % 8);
        } else {
            bad = 1;
        }
    }
    bad |= qt_bytes_add(out, "\1", 1) | qt_bytes_add(out, types, n * 2);
    if (values.len > 0)
        bad |= qt_bytes_add(out, values.p, values.len);
    qt_bytes_free(&values);
    return bad || r->bad;
}

static int send_row(struct qt_connection *c, MYSQL_STMT *stmt, struct qt_bytes *plain)
{
    struct qt_bytes named = {0};
    if (!c->named || stmt->param_count == 0)
        return send_request(c, stmt, COM_STMT_EXECUTE, plain->p, plain->len);
    struct qt_reading r = qt_reading(plain->p + 4, plain->len - 4);
    int code = qt_query_attributes_name(r, stmt->param_count, NULL, 0, &named);
    if (code == 0)
        code = send_request(c, stmt, COM_STMT_EXECUTE, named.p, named.len);
    qt_bytes_free(&named);
    return code;
}

/* Sends all rows of a bulk execution, and receives all answers except the last. The last answer is received like the
 * answer of any other statement. All rows are checked before the first row is sent. */
static int send_rows(struct qt_connection *c, MYSQL_STMT *stmt, struct qt_reading r, struct qt_answer *a)
{
    uint64_t n = stmt->param_count;
    struct qt_bytes request = {0};
    qt_take(&r, 2);
    const uint8_t *types = qt_take(&r, n * 2);
    struct qt_reading look = r;
    int unfit = r.bad || qt_left(&r) == 0, failed = 0;
    while (!unfit && qt_left(&look) > 0)
        unfit = make_row_request(&look, types, n, &request);
    while (!unfit && !failed && make_row_request(&r, types, n, &request) == 0) {
        c->bulk_rows++;
        qt_connection_count(c, QT_COUNT_BULK_ROWS_EXPANDED, 1);
        failed = send_row(c, stmt, &request) != 0;
        if (failed || qt_left(&r) == 0)
            break;
        receive_results(c, stmt, a);
        failed = mysql_stmt_errno(stmt) != 0;
    }
    if (failed)
        finish_answer(c, stmt, a);
    qt_bytes_free(&request);
    return unfit ? 1 : failed ? -1 : 0;
}

static int can_bulk(struct qt_connection *c)
{
    unsigned long capabilities = 0;
    mariadb_get_infov(c->mysql, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &capabilities);
    return (capabilities & CAN_BULK) != 0;
}

/* Sends the text of a statement that the target cannot prepare. Such a statement has no parameter values. */
static int send_as_query(struct qt_connection *c, const struct qt_prepared *p, char letter, uint64_t count,
                         struct qt_answer *a)
{
    if (letter != 'E' || count != 0)
        return 1;
    c->receiving = NULL;
    qt_connection_count(c, QT_COUNT_EXECUTED_AS_QUERY, 1);
    return qt_connection_send(c, p->text, p->len, a);
}

int qt_connection_send_execute(struct qt_connection *c, int64_t number, char *params, size_t len, struct qt_answer *a)
{
    struct qt_prepared *p = qt_statements_find(c, number);
    if (p == NULL || len == 0 || memchr("EDNB", params[0], 4) == NULL)
        return 1;
    struct qt_reading r = qt_reading(params + 1, len - 1);
    uint64_t count = qt_take_lenenc(&r);
    const uint8_t *absent = params[0] == 'D' || params[0] == 'N' ? qt_take(&r, (count + 7) / 8) : NULL;
    struct qt_bytes made = {0};
    char *request = params + (r.p - (uint8_t *)params) - QT_PARAMS_ROOM;
    size_t size = QT_PARAMS_ROOM + qt_left(&r);
    int bulk = params[0] == 'B', code = 0;

    memset(a, 0, sizeof *a);
    if (r.bad)
        return 1;
    if (p->stmt == NULL)
        return send_as_query(c, p, params[0], count, a);
    if (params[0] != 'N' && count != p->stmt->param_count)
        return 1;
    c->receiving = p->stmt;
    if (bulk && !can_bulk(c))
        return send_rows(c, p->stmt, r, a);
    if (c->named && !bulk && count > 0) {
        code = count < p->stmt->param_count || qt_query_attributes_name(r, count, absent, params[0] == 'N', &made);
        request = made.p;
        size = made.len;
    } else if (params[0] == 'N') {
        code = cut_attributes(p->stmt->param_count, r, count, absent, &made);
        request = made.p;
        size = made.len;
        qt_connection_count(c, QT_COUNT_QUERY_ATTRIBUTES_DROPPED, count - p->stmt->param_count);
    }
    if (code == 0 && send_request(c, p->stmt, bulk ? COM_BULK : COM_STMT_EXECUTE, request, size) != 0) {
        finish_answer(c, p->stmt, a);
        code = -1;
    }
    qt_bytes_free(&made);
    return code;
}

void qt_connection_receive_execute(struct qt_connection *c, struct qt_answer *a)
{
    if (c->receiving == NULL) {
        qt_connection_receive(c, a);
        return;
    }
    a->first_ns = qt_now();
    receive_results(c, c->receiving, a);
    finish_answer(c, c->receiving, a);
    if (a->lost && a->rows == 0)
        a->first_ns = 0;
}

int qt_connection_fetch(struct qt_connection *c, int64_t number, const char *params, size_t len, struct qt_answer *a)
{
    struct qt_prepared *p = qt_statements_find(c, number);
    struct qt_reading r = qt_reading(params + 1, len - 1);
    unsigned long rows = (unsigned long)qt_take_int(&r, 4);

    memset(a, 0, sizeof *a);
    if (p == NULL || p->stmt == NULL || r.bad || rows == 0)
        return 1;
    /* The library fetches this many rows when it has none left. One fetch of the tape is therefore one request. */
    p->stmt->prefetch_rows = rows;
    p->stmt->result_cursor = NULL;
    if (p->stmt->state == MYSQL_STMT_FETCH_DONE)
        p->stmt->state = MYSQL_STMT_USE_OR_STORE_CALLED;
    p->stmt->upsert_status.server_status &= ~(unsigned)SERVER_STATUS_LAST_ROW_SENT;
    p->stmt->result.rows = 0;
    while (mysql_stmt_fetch(p->stmt) == 0) {
        a->rows++;
        if (p->stmt->result_cursor == NULL)
            break;
    }
    a->warnings = mysql_stmt_warning_count(p->stmt);
    finish_answer(c, p->stmt, a);
    a->first_ns = a->done_ns;
    return 0;
}

int qt_connection_long_data(struct qt_connection *c, int64_t number, char *params, size_t len, struct qt_answer *a)
{
    struct qt_prepared *p = qt_statements_find(c, number);
    struct qt_reading r = qt_reading(params + 1, len - 1);
    uint64_t param = qt_take_int(&r, 2);

    memset(a, 0, sizeof *a);
    if (p == NULL || p->stmt == NULL || r.bad || param >= p->stmt->param_count)
        return 1;
    /* The statement's id overwrites the letter of the params and the three bytes before this letter. */
    (void)send_command(c, p->stmt, COM_STMT_SEND_LONG_DATA, params + 1 - QT_PARAMS_ROOM, QT_PARAMS_ROOM + len - 1, 1);
    qt_connection_finish(c, a, (int)mysql_errno(c->mysql), mysql_error(c->mysql));
    a->first_ns = a->done_ns;
    return 0;
}

void qt_connection_reset_stmt(struct qt_connection *c, int64_t number, struct qt_answer *a)
{
    struct qt_prepared *p = qt_statements_find(c, number);
    memset(a, 0, sizeof *a);
    char request[4];
    if (p->stmt != NULL)
        close_results(c, p->stmt);
    if (p->stmt != NULL && send_command(c, p->stmt, COM_STMT_RESET, request, 4, 0) != 0)
        qt_connection_finish(c, a, (int)mysql_errno(c->mysql), mysql_error(c->mysql));
    else
        qt_connection_finish(c, a, 0, "");
    a->first_ns = a->done_ns;
}

void qt_connection_close_stmt(struct qt_connection *c, int64_t number, struct qt_answer *a)
{
    struct qt_prepared *p = qt_statements_find(c, number);
    memset(a, 0, sizeof *a);
    if (p->stmt != NULL)
        close_results(c, p->stmt);
    qt_statements_drop(c, p);
    qt_connection_finish(c, a, (int)mysql_errno(c->mysql), mysql_error(c->mysql));
    a->first_ns = a->done_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   EXECUTE    id + flags, iterations, NULL bitmap, 1, types, values: on the tape without the id, so it is laid before them
 *   bulk       the same, where the server is MariaDB; for MySQL each row becomes an EXECUTE, and the answers are added up
 *   attributes cannot be sent by Connector/C: they are cut off and counted
 */
#include "prepared.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "clock.h"
#include "values.h"
#include "verify.h"

#define COM_BULK ((enum enum_server_command)0xFA)
#define CAN_BULK (1UL << 2) /* MARIADB_CLIENT_STMT_BULK_OPERATIONS among the extended capabilities */

struct qt_prepared {
    int64_t number;
    MYSQL_STMT *stmt;
};

static struct qt_prepared *find(struct qt_link *link, int64_t number, size_t *at)
{
    size_t low = 0, high = link->n_prepared;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (link->prepared[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    if (at != NULL)
        *at = low;
    return low < link->n_prepared && link->prepared[low].number == number ? &link->prepared[low] : NULL;
}

int qt_link_is_prepared(struct qt_link *link, int64_t number) { return find(link, number, NULL) != NULL; }

int qt_link_has_cursor(struct qt_link *link, int64_t number)
{
    struct qt_prepared *p = find(link, number, NULL);
    return p != NULL && p->stmt->cursor_exists;
}

static void drop(struct qt_link *link, struct qt_prepared *p)
{
    size_t at = (size_t)(p - link->prepared);
    mysql_stmt_close(p->stmt);
    memmove(p, p + 1, (--link->n_prepared - at) * sizeof *p);
}

void qt_link_forget_all(struct qt_link *link)
{
    for (size_t i = 0; i < link->n_prepared; i++)
        mysql_stmt_close(link->prepared[i].stmt);
    free(link->prepared);
    link->prepared = NULL;
    link->n_prepared = link->prepared_room = 0;
}

static int add(struct qt_link *link, int64_t number, MYSQL_STMT *stmt)
{
    size_t at;
    struct qt_prepared *old = find(link, number, &at);
    if (old != NULL)
        drop(link, old);
    if (link->n_prepared == link->prepared_room) {
        size_t room = link->prepared_room > 0 ? link->prepared_room * 2 : 4;
        struct qt_prepared *larger = realloc(link->prepared, room * sizeof *larger);
        if (larger == NULL)
            return -1;
        link->prepared = larger;
        link->prepared_room = room;
    }
    memmove(link->prepared + at + 1, link->prepared + at, (link->n_prepared - at) * sizeof *link->prepared);
    link->prepared[at] = (struct qt_prepared){.number = number, .stmt = stmt};
    link->n_prepared++;
    return 0;
}

static void finish(struct qt_link *link, MYSQL_STMT *stmt, struct qt_answer *a)
{
    qt_link_finish(link, a, (int)mysql_stmt_errno(stmt), mysql_stmt_error(stmt));
}

void qt_link_prepare(struct qt_link *link, int64_t number, const char *sql, size_t len, struct qt_answer *a)
{
    MYSQL_STMT *stmt = mysql_stmt_init(link->mysql);
    memset(a, 0, sizeof *a);
    if (stmt == NULL) {
        qt_link_finish(link, a, (int)mysql_errno(link->mysql), mysql_error(link->mysql));
        return;
    }
    int failed = mysql_stmt_prepare(stmt, sql, (unsigned long)len) != 0;
    finish(link, stmt, a);
    a->first_ns = a->done_ns;
    if (failed || add(link, number, stmt) != 0)
        mysql_stmt_close(stmt);
}

/* A command about one statement; `request` begins with room for its id. An answer of one packet is read unless `silent`. */
static int send_command(struct qt_link *link, MYSQL_STMT *stmt, enum enum_server_command command, char *request, size_t len,
                        int silent)
{
    uint32_t id = (uint32_t)stmt->stmt_id;
    for (int i = 0; i < 4; i++)
        request[i] = (char)(id >> (8 * i) & 0xFF);
    return link->mysql->methods->db_command(link->mysql, command, request, len, (my_bool)silent, stmt);
}

/* The library's own statement must believe that nothing is open, whatever the execution before left. */
static void quiet(struct qt_link *link, MYSQL_STMT *stmt)
{
    stmt->state = MYSQL_STMT_PREPARED;
    stmt->cursor_exists = 0;
    stmt->result_cursor = stmt->result.data = NULL;
    stmt->result.rows = 0;
    link->mysql->status = MYSQL_STATUS_READY;
}

static int send_request(struct qt_link *link, MYSQL_STMT *stmt, enum enum_server_command command, char *request, size_t len)
{
    quiet(link, stmt);
    return send_command(link, stmt, command, request, len, 1);
}

/* The library knows of cursors that it asked for itself; here the request was the tape's, so the server's word is taken. */
static int opens_cursor(struct qt_link *link, MYSQL_STMT *stmt)
{
    if (!(link->mysql->server_status & SERVER_STATUS_CURSOR_EXISTS))
        return 0;
    stmt->cursor_exists = 1;
    link->mysql->status = MYSQL_STATUS_READY;
    return 1;
}

static void take_rows(struct qt_link *link, MYSQL_STMT *stmt, struct qt_answer *a)
{
    a->binary = 1;
    qt_link_sum_into(link->verify ? &a->sum : NULL, mysql_stmt_field_count(stmt));
    while (mysql_stmt_fetch(stmt) == 0)
        a->rows++;
    qt_link_sum_into(NULL, 0);
}

/* Takes the results of one execution to their end. */
static void receive(struct qt_link *link, MYSQL_STMT *stmt, struct qt_answer *a)
{
    int failed = link->mysql->methods->db_read_execute_response(stmt) != 0;
    while (!failed) {
        if (mysql_stmt_field_count(stmt) == 0)
            a->affected += (int64_t)mysql_stmt_affected_rows(stmt);
        else if (!opens_cursor(link, stmt))
            take_rows(link, stmt, a);
        else if (link->verify)
            qt_checksum_result(&a->sum, mysql_stmt_field_count(stmt)), a->binary = 1;
        if (mysql_stmt_errno(stmt) != 0)
            break;
        a->warnings += mysql_warning_count(link->mysql);
        if (!mysql_stmt_more_results(stmt))
            break;
        failed = mysql_stmt_next_result(stmt) > 0;
    }
}

/* Without attributes: what stands behind the statement's own parameters is left out. 0 = done, 1 = it doesn't fit. */
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

/* One row of a bulk execution as an EXECUTE. 0, or 1 where it has no such form: DEFAULT and IGNORE. */
static int row_request(struct qt_reading *r, const uint8_t *types, uint64_t n, struct qt_bytes *out)
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

/* All rows of a bulk execution but the last, whose answer is left to be received like any other's. All are looked at
 * before the first is sent. */
static int send_rows(struct qt_link *link, MYSQL_STMT *stmt, struct qt_reading r, struct qt_answer *a)
{
    uint64_t n = stmt->param_count;
    struct qt_bytes request = {0};
    qt_take(&r, 2);
    const uint8_t *types = qt_take(&r, n * 2);
    struct qt_reading look = r;
    int unfit = r.bad || qt_left(&r) == 0, failed = 0;
    while (!unfit && qt_left(&look) > 0)
        unfit = row_request(&look, types, n, &request);
    while (!unfit && !failed && row_request(&r, types, n, &request) == 0) {
        link->expanded++;
        failed = send_request(link, stmt, COM_STMT_EXECUTE, request.p, request.len) != 0;
        if (failed || qt_left(&r) == 0)
            break;
        receive(link, stmt, a);
        failed = mysql_stmt_errno(stmt) != 0;
    }
    if (failed)
        finish(link, stmt, a);
    qt_bytes_free(&request);
    return unfit ? 1 : failed ? -1 : 0;
}

static int can_bulk(struct qt_link *link)
{
    unsigned long capabilities = 0;
    mariadb_get_infov(link->mysql, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &capabilities);
    return (capabilities & CAN_BULK) != 0;
}

int qt_link_send_execute(struct qt_link *link, int64_t number, char *params, size_t len, struct qt_answer *a)
{
    struct qt_prepared *p = find(link, number, NULL);
    struct qt_reading r = qt_reading(params + 1, len - 1);
    uint64_t count = qt_take_lenenc(&r);
    const uint8_t *absent = params[0] == 'D' || params[0] == 'N' ? qt_take(&r, (count + 7) / 8) : NULL;
    struct qt_bytes made = {0};
    char *request = params + (r.p - (uint8_t *)params) - QT_PARAMS_ROOM;
    size_t size = QT_PARAMS_ROOM + qt_left(&r);
    int bulk = params[0] == 'B', code = 0;

    memset(a, 0, sizeof *a);
    if (p == NULL || r.bad || (params[0] != 'N' && count != p->stmt->param_count))
        return 1;
    link->receiving = p->stmt;
    if (bulk && !can_bulk(link))
        return send_rows(link, p->stmt, r, a);
    if (params[0] == 'N') {
        code = cut_attributes(p->stmt->param_count, r, count, absent, &made);
        request = made.p;
        size = made.len;
        link->attributes_dropped += count - p->stmt->param_count;
    }
    if (code == 0 && send_request(link, p->stmt, bulk ? COM_BULK : COM_STMT_EXECUTE, request, size) != 0) {
        finish(link, p->stmt, a);
        code = -1;
    }
    qt_bytes_free(&made);
    return code;
}

void qt_link_receive_execute(struct qt_link *link, struct qt_answer *a)
{
    a->first_ns = qt_now();
    receive(link, link->receiving, a);
    finish(link, link->receiving, a);
    if (a->lost && a->rows == 0)
        a->first_ns = 0;
}

int qt_link_fetch(struct qt_link *link, int64_t number, const char *params, size_t len, struct qt_answer *a)
{
    struct qt_prepared *p = find(link, number, NULL);
    struct qt_reading r = qt_reading(params + 1, len - 1);
    unsigned long rows = (unsigned long)qt_take_int(&r, 4);

    memset(a, 0, sizeof *a);
    if (p == NULL || r.bad || rows == 0)
        return 1;
    /* The library asks for this many when it has none left, and keeps them: so one round asks once. */
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
    finish(link, p->stmt, a);
    a->first_ns = a->done_ns;
    return 0;
}

int qt_link_long_data(struct qt_link *link, int64_t number, char *params, size_t len, struct qt_answer *a)
{
    struct qt_prepared *p = find(link, number, NULL);
    struct qt_reading r = qt_reading(params + 1, len - 1);
    uint64_t param = qt_take_int(&r, 2);

    memset(a, 0, sizeof *a);
    if (p == NULL || r.bad || param >= p->stmt->param_count)
        return 1;
    /* The letter's place and three bytes before it take the id. */
    (void)send_command(link, p->stmt, COM_STMT_SEND_LONG_DATA, params + 1 - QT_PARAMS_ROOM, QT_PARAMS_ROOM + len - 1, 1);
    qt_link_finish(link, a, (int)mysql_errno(link->mysql), mysql_error(link->mysql));
    a->first_ns = a->done_ns;
    return 0;
}

void qt_link_reset_stmt(struct qt_link *link, int64_t number, struct qt_answer *a)
{
    struct qt_prepared *p = find(link, number, NULL);
    memset(a, 0, sizeof *a);
    char request[4];
    quiet(link, p->stmt);
    if (send_command(link, p->stmt, COM_STMT_RESET, request, 4, 0) != 0)
        qt_link_finish(link, a, (int)mysql_errno(link->mysql), mysql_error(link->mysql));
    else
        qt_link_finish(link, a, 0, "");
    a->first_ns = a->done_ns;
}

void qt_link_close_stmt(struct qt_link *link, int64_t number, struct qt_answer *a)
{
    struct qt_prepared *p = find(link, number, NULL);
    memset(a, 0, sizeof *a);
    quiet(link, p->stmt);
    drop(link, p);
    qt_link_finish(link, a, (int)mysql_errno(link->mysql), mysql_error(link->mysql));
    a->first_ns = a->done_ns;
}

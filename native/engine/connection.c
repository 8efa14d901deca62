/* SPDX-License-Identifier: Apache-2.0 */
/* One statement on one connection:
 *
 *   send ─► wait (poll, with a time limit) ─► receive: for each result, count and drop its rows, or take their number
 *                                                │
 *                                                └─► struct qt_answer: times, counts, error, checksum */
#include "engine/connection.h"

#include <errmsg.h>
#include <errno.h>
#include <mysql.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ma_pvio.h> /* must follow mysql.h */

#include "base/clock.h"
#include "engine/local_files.h"
#include "engine/login_guard.h"
#include "engine/query_attributes.h"
#include "engine/statements.h"
#include "engine/verify.h"

/* The connection that this thread currently opens. The library's wait callback has no argument of its own. */
static _Thread_local struct qt_connection *connecting;

/* Returns whether the connection is unusable after this error: client errors (2000-2999, and 5000-5999 of MariaDB's
 * client), server shutdown, killed connection, idle timeout. */
static int is_loss(unsigned error)
{
    return (error >= 2000 && error < 3000) || (error >= 5000 && error < 6000) || error == 1053 || error == 1927 ||
           error == 1080 || error == 4031;
}

/* Detects a row that is larger than a session may hold. Connector/C's socket layer reports such a row as error 2020 and
 * then replaces it with 2013 (connection lost). The socket layer reports errors through a function pointer. While the
 * connection is open, the pointer points to this function. After each call the library sets the error again, with the
 * state and its own text. */
static void note_error(MYSQL *m, unsigned error, const char *state, const char *format, ...)
{
    struct qt_connection *c = m->options.local_infile_userdata; /* set by local_files.c */
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

/* Starts to detect rows of more than `most` bytes, on a connection that is open. */
static void watch_for_large_rows(struct qt_connection *c, unsigned long most)
{
    c->max_row = most;
    c->row_is_too_large = 0;
    if (c->mysql->net.pvio != NULL)
        c->mysql->net.pvio->set_error = note_error;
}

/* Checks whether the connection was lost because of a row that is too large. If so, the function counts the row, writes
 * the reason to `text` and returns 1. Otherwise it returns 0. */
static int explain_large_row(struct qt_connection *c, char *text, size_t room)
{
    if (!c->row_is_too_large)
        return 0;
    c->row_is_too_large = 0;
    qt_connection_count(c, QT_COUNT_ROWS_TOO_LARGE, 1);
    snprintf(text, room,
             "a row of the result is larger than the limit of %.1f MiB for each session, so querytape closed the"
             " connection",
             (double)c->max_row / (1 << 20));
    return 1;
}

/* Remembers the collation of the login packet, because SET NAMES later changes the library's own value. */
static void keep_collation(struct qt_connection *c, const struct qt_login *login)
{
    MY_CHARSET_INFO own;
    mysql_get_character_set_info(c->mysql, &own);
    c->sent = own.number;
    int fits = login->names != NULL && strlen(login->names) < sizeof c->names;
    c->collation = login->collation;
    strcpy(c->names, fits ? login->names : "");
}

/* Sets the character set option before COM_CHANGE_USER, because the library sends the character set of its options.
 * `names` NULL keeps the previous value. */
static void choose_collation(struct qt_connection *c, const char *names)
{
    char name[64];
    size_t len = names != NULL ? strcspn(names, " ") : 0;
    if (len == 0 || len >= sizeof name)
        return;
    memcpy(name, names, len);
    name[len] = '\0';
    if (mariadb_get_charset_by_name(name) != NULL)
        mysql_options(c->mysql, MYSQL_SET_CHARSET_NAME, name);
}

/* All waits of the library call this function. While connecting, this function also reports the socket and applies one
 * deadline to all steps. */
static int wait_for_socket(my_socket fd, my_bool is_read, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = is_read ? POLLIN : POLLOUT};
    int got;

    if (connecting != NULL) {
        int64_t left_ms = (connecting->deadline_ns - qt_now()) / 1000000;
        if (connecting->fd != fd) {
            connecting->fd = fd;
            connecting->opened(connecting->self, fd);
        }
        if (timeout_ms < 0 || timeout_ms > left_ms)
            timeout_ms = left_ms > 0 ? (int)left_ms : 0;
    }
    do
        got = poll(&p, 1, timeout_ms);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        errno = ETIMEDOUT;
    return got;
}

static unsigned long max_row(const struct qt_engine_options *o)
{
    return o->max_row_bytes > 0 ? (unsigned long)o->max_row_bytes : 1024UL * 1024 * 1024;
}

static int set_options(struct qt_connection *c, const struct qt_engine_options *o, const struct qt_login *login)
{
    unsigned timeout = (unsigned)o->connect_timeout_s, yes = 1;
    unsigned protocol = o->socket != NULL ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    unsigned long packet = max_row(o);
    my_bool off = 0;
    MYSQL *m = c->mysql;

    return mysql_optionsv(m, MYSQL_OPT_CONNECT_TIMEOUT, &timeout) || mysql_optionsv(m, MYSQL_OPT_PROTOCOL, &protocol) ||
           mysql_optionsv(m, MYSQL_OPT_LOCAL_INFILE, &yes) || mysql_optionsv(m, MYSQL_OPT_RECONNECT, &off) ||
           mysql_optionsv(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet) || qt_login_guard_set(m, o) ||
           (o->compress && mysql_optionsv(m, MYSQL_OPT_COMPRESS, NULL)) ||
           mysql_optionsv(m, MYSQL_SET_CHARSET_NAME, login->charset != NULL ? login->charset : o->charset) ||
           mysql_optionsv(m, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "querytape") ||
           mysql_optionsv(m, MARIADB_OPT_IO_WAIT, wait_for_socket);
}

/* Selects the capabilities that change the results of a client: found or changed rows, several statements, spaces after
 * function names, interactive time-outs. */
static unsigned long pick_flags(const struct qt_login *login)
{
    return CLIENT_MULTI_RESULTS | ((unsigned long)login->client_flags & (CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS |
                                                                         CLIENT_IGNORE_SPACE | CLIENT_INTERACTIVE));
}

static void choose_account(const struct qt_engine_options *o, const struct qt_login *login, const char **user,
                           const char **password)
{
    int own = login->account < 0 || login->account >= o->n_accounts;
    *user = own ? o->user : o->accounts[login->account].user;
    *password = own ? o->password : o->accounts[login->account].password;
}

static size_t count_bytes_read(struct qt_connection *c)
{
    size_t bytes = c->bytes;
    /* A lost connection no longer has a socket layer, but the library would still use the layer. */
    if (c->mysql->net.pvio == NULL)
        return bytes;
    mariadb_get_infov(c->mysql, MARIADB_CONNECTION_BYTES_READ, &bytes);
    return bytes;
}

static int run_init(struct qt_connection *c, const char *init)
{
    struct qt_answer a = {.error = 0};
    while (init != NULL && *init != 0 && a.error == 0) {
        size_t len = strcspn(init, "\n");
        if (len > 0 && qt_connection_send(c, init, len, &a) == 0) {
            qt_connection_wait(c, -1);
            qt_connection_receive(c, &a);
        }
        init += len + (init[len] != 0);
    }
    return a.error;
}

/* At login the library can only send its own collation of a character set. Another collation is set by SET NAMES after
 * the login. Returns the errno. */
static int set_names(struct qt_connection *c)
{
    char text[sizeof c->names + 16] = "SET NAMES ";

    c->names_set = 0;
    if (c->names[0] == '\0' || c->collation <= 0 || c->sent == (unsigned)c->collation)
        return 0;
    strcat(text, c->names);
    c->names_set = 1;
    return run_init(c, text);
}

static int log_in(struct qt_connection *c, const struct qt_engine_options *o, const struct qt_login *login)
{
    struct qt_login_guard guard;
    const char *user, *password, *refused;
    int done;

    choose_account(o, login, &user, &password);
    qt_login_guard_begin(&guard, c->mysql, o);
    done = mysql_real_connect(c->mysql, o->host, user, password, login->db, (unsigned)o->port, o->socket,
                              pick_flags(login)) != NULL;
    refused = qt_login_guard_end(&guard, done);
    if (refused == NULL)
        return done ? 0 : (int)mysql_errno(c->mysql);
    free(c->error); /* the library does not know the reason */
    c->error = strdup(refused);
    return CR_AUTH_PLUGIN_ERR;
}

int qt_connection_open(struct qt_connection *c, const struct qt_engine_options *o, const struct qt_login *login)
{
    int error = 0;

    c->fd = -1;
    c->bytes = 0;
    c->deadline_ns = qt_now() + o->connect_timeout_s * QT_SECOND;
    c->mysql = mysql_init(NULL);
    if (c->mysql == NULL)
        return CR_OUT_OF_MEMORY;
    connecting = c;
    qt_local_files_install(c);
    if (set_options(c, o, login) != 0)
        error = CR_UNKNOWN_ERROR;
    qt_query_attributes_ask(c, login->client_flags);
    if (error != 0)
        c->named = 0;
    else
        error = log_in(c, o, login);
    connecting = NULL;
    if (error != 0)
        return error;
    qt_query_attributes_agree(c);
    c->fd = (int)mysql_get_socket(c->mysql);
    c->opened(c->self, c->fd);
    watch_for_large_rows(c, max_row(o));
    if (c->verify)
        qt_verify_binary_rows(c);
    keep_collation(c, login);
    error = set_names(c);
    if (error == 0)
        error = run_init(c, o->init);
    c->bytes = count_bytes_read(c);
    return error;
}

const char *qt_connection_error(struct qt_connection *c)
{
    if (c->error != NULL)
        return c->error;
    return c->mysql == NULL ? "out of memory" : mysql_error(c->mysql);
}

int64_t qt_connection_thread_id(struct qt_connection *c) { return (int64_t)mysql_thread_id(c->mysql); }

static unsigned get_server_status(struct qt_connection *c)
{
    unsigned status = 0;
    if (c->mysql != NULL)
        mariadb_get_infov(c->mysql, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return status;
}

int qt_connection_in_transaction(struct qt_connection *c)
{
    return (get_server_status(c) & SERVER_STATUS_IN_TRANS) != 0;
}

int qt_connection_autocommits(struct qt_connection *c)
{
    return (get_server_status(c) & SERVER_STATUS_AUTOCOMMIT) != 0;
}

void qt_connection_close(struct qt_connection *c)
{
    if (c->mysql != NULL)
        mysql_close(c->mysql);
    c->mysql = NULL;
    c->fd = -1;
    qt_statements_clear(c);
    free(c->direct);
    free(c->error);
    free(c->row);
    free(c->methods);
    qt_bytes_free(&c->framed);
    c->error = c->row = NULL;
    c->direct = NULL;
    c->methods = NULL;
    c->row_room = 0;
}

void qt_connection_finish(struct qt_connection *c, struct qt_answer *a, int error, const char *text)
{
    size_t bytes = count_bytes_read(c);
    char why[256];

    if (error != 0 && explain_large_row(c, why, sizeof why))
        text = why;
    if (error == 0 && c->file_missing) {
        error = ENOENT;
        text = "the tape does not contain the file that the statement loads";
    }
    free(c->error);
    c->error = error != 0 ? strdup(text) : NULL;
    a->error = error;
    a->lost = error != 0 && is_loss((unsigned)error);
    a->done_ns = a->lost ? 0 : qt_now();
    a->bytes = (int64_t)(bytes - c->bytes);
    c->bytes = bytes;
}

static void finish_answer(struct qt_connection *c, struct qt_answer *a)
{
    qt_connection_finish(c, a, (int)mysql_errno(c->mysql), mysql_error(c->mysql));
}

int qt_connection_send(struct qt_connection *c, const char *sql, size_t len, struct qt_answer *a)
{
    return qt_connection_send_with(c, (struct qt_span){NULL, 0}, sql, len, a);
}

int qt_connection_send_with(struct qt_connection *c, struct qt_span attributes, const char *sql, size_t len,
                            struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    if ((c->named ? qt_query_attributes_send(c, attributes, sql, len)
                  : mysql_send_query(c->mysql, sql, (unsigned long)len)) == 0)
        return 0;
    finish_answer(c, a);
    return -1;
}

int qt_connection_wait(struct qt_connection *c, int timeout_ms) { return wait_for_socket(c->fd, 1, timeout_ms) != 0; }

/* Counts and drops the rows of a result. */
static void drain_rows(struct qt_connection *c, struct qt_answer *a)
{
    MYSQL_RES *result = mysql_use_result(c->mysql);
    unsigned columns = mysql_field_count(c->mysql);
    MYSQL_ROW row;
    if (result == NULL)
        return;
    if (c->verify)
        qt_checksum_result(&a->sum, columns);
    while ((row = mysql_fetch_row(result)) != NULL) {
        a->rows++;
        if (c->verify)
            qt_verify_row(c, row, mysql_fetch_lengths(result), columns, &a->sum);
    }
    mysql_free_result(result);
}

void qt_connection_receive(struct qt_connection *c, struct qt_answer *a)
{
    MYSQL *m = c->mysql;
    int failed;

    a->first_ns = qt_now();
    failed = mysql_read_query_result(m) != 0;
    while (!failed) {
        if (mysql_field_count(m) > 0)
            drain_rows(c, a);
        else
            a->affected += (int64_t)mysql_affected_rows(m);
        if (mysql_errno(m) != 0)
            break;
        a->warnings = mysql_warning_count(m); /* warnings of the last result, as on the tape */
        if (!mysql_more_results(m))
            break;
        failed = mysql_next_result(m) > 0;
    }
    finish_answer(c, a);
    if (a->lost && a->rows == 0)
        a->first_ns = 0; /* the connection ended without an answer */
}

/* An answer of a single packet: its first and last byte arrive at the same time. */
static void finish_short_answer(struct qt_connection *c, struct qt_answer *a)
{
    finish_answer(c, a);
    a->first_ns = a->done_ns;
}

void qt_connection_select_db(struct qt_connection *c, const char *db, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_select_db(c->mysql, db);
    finish_short_answer(c, a);
}

void qt_connection_ping(struct qt_connection *c, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_ping(c->mysql);
    finish_short_answer(c, a);
}

void qt_connection_set_option(struct qt_connection *c, int option, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_set_server_option(c->mysql,
                            option == 0 ? MYSQL_OPTION_MULTI_STATEMENTS_ON : MYSQL_OPTION_MULTI_STATEMENTS_OFF);
    finish_short_answer(c, a);
}

/* Restores the session settings that the server has reset. Sends the init statements again. Also restores the collation
 * if the server returned to the login's collation. If the settings (for example READ ONLY) cannot be restored, the
 * connection counts as lost. */
static void set_up_again(struct qt_connection *c, const struct qt_engine_options *o, int with_names,
                         struct qt_answer *a)
{
    qt_statements_clear(c);
    if ((with_names && set_names(c) != 0) || run_init(c, o->init) != 0) {
        a->error = (int)mysql_errno(c->mysql);
        a->lost = 1;
        a->done_ns = 0;
    }
    c->bytes = count_bytes_read(c);
}

/* A reset restores the login's collation on MariaDB, but the global collation on MySQL. The original session was reset
 * in the same way. Only MariaDB therefore needs SET NAMES again. */
void qt_connection_reset(struct qt_connection *c, const struct qt_engine_options *o, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_reset_connection(c->mysql);
    finish_short_answer(c, a);
    c->names_set = 0;
    if (a->error == 0)
        set_up_again(c, o, mariadb_connection(c->mysql), a);
}

void qt_connection_change_user(struct qt_connection *c, const struct qt_engine_options *o, const struct qt_login *login,
                               struct qt_answer *a)
{
    struct qt_login_guard guard;
    const char *user, *password, *refused;

    memset(a, 0, sizeof *a);
    choose_account(o, login, &user, &password);
    choose_collation(c, login->names);
    qt_login_guard_begin(&guard, c->mysql, o);
    mysql_change_user(c->mysql, user, password, login->db);
    refused = qt_login_guard_end(&guard, 0);
    if (refused != NULL)
        qt_connection_finish(c, a, CR_AUTH_PLUGIN_ERR, refused);
    else
        finish_short_answer(c, a);
    if (a->error == 0) {
        keep_collation(c, login);
        set_up_again(c, o, 1, a);
    }
}

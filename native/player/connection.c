/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"
#include "connection.h"
#include "prepared.h"
#include "verify.h"

#include <errno.h>
#include <errmsg.h>
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library's wait callback has no argument of its own: the link that this thread is connecting just now. */
static _Thread_local struct qt_link *connecting;

/* Errors after which nothing more can be sent: the client's own (2000-2999, 5000 and up in MariaDB's), server shutdown,
 * killed, idle too long. */
static int is_loss(unsigned error)
{
    return (error >= 2000 && error < 3000) || (error >= 5000 && error < 6000) || error == 1053 || error == 1927 ||
           error == 1080 || error == 4031;
}

/* Every wait of the library's comes here. While connecting it tells the socket and keeps one deadline for all steps. */
static int wait_io(my_socket fd, my_bool is_read, int timeout_ms)
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

/* LOAD DATA LOCAL: the server asks for a file, and gets the bytes that the tape has for this statement, whatever the name; no file of this
 * machine is ever opened. */
struct local_file {
    struct qt_link *link;
    size_t at;
};

static int file_open(void **out, const char *name, void *link)
{
    struct local_file *f = calloc(1, sizeof *f);
    (void)name;
    *out = f;
    if (f == NULL)
        return 1;
    f->link = link;
    return f->link->file == NULL;
}

static int file_read(void *self, char *to, unsigned room)
{
    struct local_file *f = self;
    size_t n = f->link->file_len - f->at;
    n = n < room ? n : room;
    memcpy(to, f->link->file + f->at, n);
    f->at += n;
    return (int)n;
}

static void file_close(void *self) { free(self); }

static int file_error(void *self, char *to, unsigned room)
{
    (void)self;
    snprintf(to, room, "the tape does not hold the file that the statement loads");
    return 2; /* ENOENT: the connection goes on */
}

/* Always said: from 3.4 on the library verifies certificates where nobody says what to do. */
static int set_tls(MYSQL *m, const struct qt_engine_options *o)
{
    my_bool on = o->tls != QT_TLS_OFF, verify = o->tls == QT_TLS_VERIFY_IDENTITY;

    return mysql_optionsv(m, MYSQL_OPT_SSL_ENFORCE, &on) || mysql_optionsv(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify) ||
           (on && o->tls_ca != NULL && mysql_optionsv(m, MYSQL_OPT_SSL_CA, o->tls_ca)) ||
           (on && o->tls_cert != NULL && mysql_optionsv(m, MYSQL_OPT_SSL_CERT, o->tls_cert)) ||
           (on && o->tls_key != NULL && mysql_optionsv(m, MYSQL_OPT_SSL_KEY, o->tls_key));
}

static int set_options(struct qt_link *link, const struct qt_engine_options *o, const struct qt_login *login)
{
    unsigned timeout = (unsigned)o->connect_timeout_s, yes = 1;
    unsigned protocol = o->socket != NULL ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    unsigned long packet = 1024UL * 1024 * 1024;
    my_bool off = 0;
    MYSQL *m = link->mysql;

    return mysql_optionsv(m, MYSQL_OPT_CONNECT_TIMEOUT, &timeout) || mysql_optionsv(m, MYSQL_OPT_PROTOCOL, &protocol) ||
           mysql_optionsv(m, MYSQL_OPT_LOCAL_INFILE, &yes) || mysql_optionsv(m, MYSQL_OPT_RECONNECT, &off) ||
           mysql_optionsv(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet) || set_tls(m, o) ||
           (o->compress && mysql_optionsv(m, MYSQL_OPT_COMPRESS, NULL)) ||
           mysql_optionsv(m, MYSQL_SET_CHARSET_NAME, login->charset != NULL ? login->charset : o->charset) ||
           mysql_optionsv(m, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "querytape") ||
           mysql_optionsv(m, MARIADB_OPT_IO_WAIT, wait_io);
}

/* Capabilities that change what a client gets: rows found or changed, several statements, names, time-outs. */
static unsigned long flags_of(const struct qt_login *login)
{
    return CLIENT_MULTI_RESULTS | ((unsigned long)login->client_flags & (CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS |
                                                                         CLIENT_IGNORE_SPACE | CLIENT_INTERACTIVE));
}

static void who(const struct qt_engine_options *o, const struct qt_login *login, const char **user, const char **password)
{
    int own = login->account < 0 || login->account >= o->n_accounts;
    *user = own ? o->user : o->accounts[login->account].user;
    *password = own ? o->password : o->accounts[login->account].password;
}

static size_t bytes_read(struct qt_link *link)
{
    size_t bytes = link->bytes;
    /* The library forgets its socket when the connection is lost, and asks it all the same. */
    if (link->mysql->net.pvio == NULL)
        return bytes;
    mariadb_get_infov(link->mysql, MARIADB_CONNECTION_BYTES_READ, &bytes);
    return bytes;
}

static int run_init(struct qt_link *link, const char *init)
{
    struct qt_answer a = {.error = 0};
    while (init != NULL && *init != 0 && a.error == 0) {
        size_t len = strcspn(init, "\n");
        if (len > 0 && qt_link_send(link, init, len, &a) == 0) {
            qt_link_wait(link, -1);
            qt_link_receive(link, &a);
        }
        init += len + (init[len] != 0);
    }
    return a.error;
}

int qt_link_open(struct qt_link *link, const struct qt_engine_options *o, const struct qt_login *login)
{
    const char *user, *password;
    int error = 0;

    who(o, login, &user, &password);
    link->fd = -1;
    link->bytes = 0;
    link->deadline_ns = qt_now() + o->connect_timeout_s * QT_SECOND;
    link->mysql = mysql_init(NULL);
    if (link->mysql == NULL)
        return CR_OUT_OF_MEMORY;
    connecting = link;
    mysql_set_local_infile_handler(link->mysql, file_open, file_read, file_close, file_error, link);
    if (set_options(link, o, login) != 0)
        error = CR_UNKNOWN_ERROR;
    else if (mysql_real_connect(link->mysql, o->host, user, password, login->db, (unsigned)o->port, o->socket,
                                flags_of(login)) == NULL)
        error = (int)mysql_errno(link->mysql);
    connecting = NULL;
    if (error != 0)
        return error;
    link->fd = (int)mysql_get_socket(link->mysql);
    link->opened(link->self, link->fd);
    if (link->verify)
        qt_link_sum_binary(link);
    error = run_init(link, o->init);
    link->bytes = bytes_read(link);
    return error;
}

const char *qt_link_error(struct qt_link *link)
{
    if (link->error != NULL)
        return link->error;
    return link->mysql == NULL ? "out of memory" : mysql_error(link->mysql);
}

int64_t qt_link_thread_id(struct qt_link *link) { return (int64_t)mysql_thread_id(link->mysql); }

static unsigned server_status(struct qt_link *link)
{
    unsigned status = 0;
    if (link->mysql != NULL)
        mariadb_get_infov(link->mysql, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return status;
}

int qt_link_in_transaction(struct qt_link *link) { return (server_status(link) & SERVER_STATUS_IN_TRANS) != 0; }

int qt_link_autocommits(struct qt_link *link) { return (server_status(link) & SERVER_STATUS_AUTOCOMMIT) != 0; }

void qt_link_close(struct qt_link *link)
{
    if (link->mysql != NULL)
        mysql_close(link->mysql);
    link->mysql = NULL;
    link->fd = -1;
    qt_link_forget_all(link);
    free(link->error);
    free(link->row);
    free(link->methods);
    link->error = link->row = NULL;
    link->methods = NULL;
    link->row_room = 0;
}

void qt_link_finish(struct qt_link *link, struct qt_answer *a, int error, const char *text)
{
    size_t bytes = bytes_read(link);

    free(link->error);
    link->error = error != 0 ? strdup(text) : NULL;
    a->error = error;
    a->lost = error != 0 && is_loss((unsigned)error);
    a->done_ns = a->lost ? 0 : qt_now();
    a->bytes = (int64_t)(bytes - link->bytes);
    link->bytes = bytes;
}

static void finish(struct qt_link *link, struct qt_answer *a)
{
    qt_link_finish(link, a, (int)mysql_errno(link->mysql), mysql_error(link->mysql));
}

int qt_link_send(struct qt_link *link, const char *sql, size_t len, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    if (mysql_send_query(link->mysql, sql, (unsigned long)len) == 0)
        return 0;
    finish(link, a);
    return -1;
}

int qt_link_wait(struct qt_link *link, int timeout_ms) { return wait_io(link->fd, 1, timeout_ms) != 0; }

/* Counts a result's rows and throws them away. */
static void drain_rows(struct qt_link *link, struct qt_answer *a)
{
    MYSQL_RES *result = mysql_use_result(link->mysql);
    unsigned columns = mysql_field_count(link->mysql);
    MYSQL_ROW row;
    if (result == NULL)
        return;
    if (link->verify)
        qt_checksum_result(&a->sum, columns);
    while ((row = mysql_fetch_row(result)) != NULL) {
        a->rows++;
        if (link->verify)
            qt_link_sum_row(link, row, mysql_fetch_lengths(result), columns, &a->sum);
    }
    mysql_free_result(result);
}

void qt_link_receive(struct qt_link *link, struct qt_answer *a)
{
    MYSQL *m = link->mysql;
    int failed;

    a->first_ns = qt_now();
    failed = mysql_read_query_result(m) != 0;
    while (!failed) {
        if (mysql_field_count(m) > 0)
            drain_rows(link, a);
        else
            a->affected += (int64_t)mysql_affected_rows(m);
        if (mysql_errno(m) != 0)
            break;
        a->warnings += mysql_warning_count(m);
        if (!mysql_more_results(m))
            break;
        failed = mysql_next_result(m) > 0;
    }
    finish(link, a);
    if (a->lost && a->rows == 0)
        a->first_ns = 0; /* what woke us was the end, not an answer */
}

/* A single packet's first byte and last are the same moment. */
static void finish_short(struct qt_link *link, struct qt_answer *a)
{
    finish(link, a);
    a->first_ns = a->done_ns;
}

void qt_link_select_db(struct qt_link *link, const char *db, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_select_db(link->mysql, db);
    finish_short(link, a);
}

void qt_link_ping(struct qt_link *link, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_ping(link->mysql);
    finish_short(link, a);
}

void qt_link_set_option(struct qt_link *link, int option, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_set_server_option(link->mysql, option == 0 ? MYSQL_OPTION_MULTI_STATEMENTS_ON : MYSQL_OPTION_MULTI_STATEMENTS_OFF);
    finish_short(link, a);
}

/* The server has forgotten all: character set and init statement come again. Reads only is a session setting: where it
 * can't be made again, nothing more may be sent. */
static void begin_anew(struct qt_link *link, const struct qt_engine_options *o, const char *charset, struct qt_answer *a)
{
    qt_link_forget_all(link);
    if (mysql_set_character_set(link->mysql, charset != NULL ? charset : o->charset) != 0 || run_init(link, o->init) != 0) {
        a->error = (int)mysql_errno(link->mysql);
        a->lost = 1;
        a->done_ns = 0;
    }
    link->bytes = bytes_read(link);
}

void qt_link_reset(struct qt_link *link, const struct qt_engine_options *o, const char *charset, struct qt_answer *a)
{
    memset(a, 0, sizeof *a);
    mysql_reset_connection(link->mysql);
    finish_short(link, a);
    if (a->error == 0)
        begin_anew(link, o, charset, a);
}

void qt_link_change_user(struct qt_link *link, const struct qt_engine_options *o, const struct qt_login *login, struct qt_answer *a)
{
    const char *user, *password;

    memset(a, 0, sizeof *a);
    who(o, login, &user, &password);
    mysql_change_user(link->mysql, user, password, login->db);
    finish_short(link, a);
    if (a->error == 0)
        begin_anew(link, o, login->charset, a);
}

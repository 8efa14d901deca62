/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of one session, through MariaDB Connector/C. An answer's first byte is seen by poll() between
 * mysql_send_query and mysql_read_query_result (only for the first result: later ones may already be in the library's
 * buffer). Rows are counted and thrown away as they are read.
 */
#include <errno.h>
#include <errmsg.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"

static void keep_error(struct qt_session *s, int number, const char *text)
{
    s->error_number = number;
    free(s->error);
    s->error = strdup(text);
}

int qt_error_is_loss(int number)
{
    switch (number) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case 1053: /* ER_SERVER_SHUTDOWN */
    case 1077: /* ER_NORMAL_SHUTDOWN */
    case 1927: /* ER_CONNECTION_KILLED of MariaDB */
    case 3169: /* ER_SESSION_WAS_KILLED */
    case 4031: /* ER_CLIENT_INTERACTION_TIMEOUT */
        return 1;
    default:
        return 0;
    }
}

static void set_options(MYSQL *m, const struct qt_engine_options *o)
{
    unsigned timeout = (unsigned)o->connect_timeout_s, off = 0;
    my_bool no = 0;
    mysql_options(m, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
    mysql_options(m, MYSQL_SET_CHARSET_NAME, o->charset);
    mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_options(m, MYSQL_OPT_RECONNECT, &no);
    mysql_options(m, MYSQL_OPT_SSL_ENFORCE, &no); /* said outright: newer libraries verify by default */
    mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
    if (o->socket != NULL) {
        unsigned protocol = MYSQL_PROTOCOL_SOCKET;
        mysql_options(m, MYSQL_OPT_PROTOCOL, &protocol);
    }
}

/* QT_NONE once the connection is lost: the library would then look into what is no more. */
static int64_t bytes_read(MYSQL *m)
{
    size_t bytes = 0;
    if (m->net.pvio == NULL || mariadb_get_infov(m, MARIADB_CONNECTION_BYTES_READ, &bytes) != 0)
        return QT_NONE;
    return (int64_t)bytes;
}

/* What every connection begins with; a reset of the connection undoes it. */
static int begin_session(struct qt_session *s, MYSQL *m)
{
    const char *init = s->engine->options.init;
    if (init == NULL)
        return 0;
    s->injected++;
    atomic_fetch_add_explicit(&s->engine->injected, 1, memory_order_relaxed);
    return mysql_query(m, init);
}

static void publish(struct qt_session *s, int fd)
{
    pthread_mutex_lock(&s->lock);
    s->fd = fd;
    pthread_mutex_unlock(&s->lock);
}

int qt_connection_open(struct qt_session *s)
{
    const struct qt_engine_options *o = &s->engine->options;
    MYSQL *m = mysql_init(NULL);
    if (m == NULL) {
        keep_error(s, CR_OUT_OF_MEMORY, "out of memory");
        return CR_OUT_OF_MEMORY;
    }
    set_options(m, o);
    int bad = mysql_real_connect(m, o->host, o->user, o->password, NULL, (unsigned)o->port, o->socket,
                                 CLIENT_MULTI_RESULTS) == NULL;
    if (!bad)
        bad = begin_session(s, m) != 0;
    if (bad) {
        int number = (int)mysql_errno(m);
        keep_error(s, number, mysql_error(m));
        mysql_close(m);
        return number != 0 ? number : CR_UNKNOWN_ERROR;
    }
    s->connection = m;
    s->thread_id = (int64_t)mysql_thread_id(m);
    publish(s, (int)mysql_get_socket(m));
    const char *db = s->db != NULL ? s->db : o->db;
    if (db != NULL && *db != 0)
        qt_connection_schema(s, db); /* a missing schema is said with the event that wants it */
    s->bytes_before = bytes_read(m);
    return 0;
}

void qt_connection_close(struct qt_session *s)
{
    if (s->connection == NULL)
        return;
    s->in_transaction = (s->connection->server_status & SERVER_STATUS_IN_TRANS) != 0;
    publish(s, -1);
    mysql_close(s->connection);
    s->connection = NULL;
}

static void track_schema(struct qt_session *s, const char *db)
{
    free(s->schema);
    s->schema = db != NULL ? strdup(db) : NULL;
}

int qt_connection_schema(struct qt_session *s, const char *db)
{
    s->injected++;
    atomic_fetch_add_explicit(&s->engine->injected, 1, memory_order_relaxed);
    if (mysql_select_db(s->connection, db) != 0)
        return (int)mysql_errno(s->connection);
    track_schema(s, db);
    return 0;
}

static void failed(struct qt_session *s, struct qt_outcome *out)
{
    out->error_number = (int32_t)mysql_errno(s->connection);
    if (out->error_number == 0)
        out->error_number = CR_UNKNOWN_ERROR;
    out->error = strdup(mysql_error(s->connection));
}

/* Waits for the answer's first byte; an error shows itself in the read that follows. */
static int64_t first_byte(struct qt_session *s)
{
    struct pollfd p = {.fd = (int)mysql_get_socket(s->connection), .events = POLLIN};
    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        ;
    return qt_now();
}

static int count_rows(MYSQL *m, struct qt_outcome *out)
{
    MYSQL_RES *result = mysql_use_result(m);
    if (result == NULL)
        return mysql_errno(m) != 0 ? -1 : 0;
    while (mysql_fetch_row(result) != NULL)
        out->rows_sent++;
    int bad = mysql_errno(m) != 0 ? -1 : 0;
    mysql_free_result(result);
    return bad;
}

static int read_results(MYSQL *m, struct qt_outcome *out)
{
    int more = 0;
    out->rows_sent = out->rows_affected = 0;
    do {
        if (mysql_field_count(m) > 0) {
            if (count_rows(m, out) != 0)
                return -1;
        } else {
            my_ulonglong affected = mysql_affected_rows(m);
            out->rows_affected += affected != (my_ulonglong)-1 ? (int64_t)affected : 0;
        }
        out->warnings = (int32_t)mysql_warning_count(m);
        if (!mysql_more_results(m))
            return 0;
        more = mysql_next_result(m);
    } while (more == 0);
    return more > 0 ? -1 : 0;
}

static int send_query(struct qt_session *s, const struct qt_event *e, struct qt_outcome *out)
{
    MYSQL *m = s->connection;
    if (mysql_send_query(m, e->bytes + e->db_len + 1, e->statement_len) != 0)
        return -1;
    out->first_ns = first_byte(s);
    if (mysql_read_query_result(m) != 0)
        return -1;
    return read_results(m, out);
}

/* A reset gives the server's defaults: what the replayer had set must stand before the next event. */
static int reset_connection(struct qt_session *s, struct qt_outcome *out)
{
    MYSQL *m = s->connection;
    int bad = mysql_reset_connection(m);
    out->first_ns = qt_now();
    track_schema(s, NULL);
    if (!bad) {
        s->injected++;
        atomic_fetch_add_explicit(&s->engine->injected, 1, memory_order_relaxed);
        bad = mysql_set_character_set(m, s->engine->options.charset) || begin_session(s, m);
    }
    return bad;
}

void qt_connection_send(struct qt_session *s, const struct qt_event *e, struct qt_outcome *out)
{
    MYSQL *m = s->connection;
    int bad = 0;
    switch (e->command) {
    case QT_COMMAND_QUERY:
        bad = send_query(s, e, out);
        break;
    case QT_COMMAND_INIT_DB:
        bad = mysql_select_db(m, e->bytes);
        break;
    case QT_COMMAND_PING:
        bad = mysql_ping(m);
        break;
    case QT_COMMAND_RESET:
        bad = reset_connection(s, out);
        break;
    default: /* quit */
        qt_connection_close(s);
        break;
    }
    if (bad)
        failed(s, out);
    else if (e->flags & QT_F_USE || e->command == QT_COMMAND_INIT_DB)
        track_schema(s, e->has_db ? e->bytes : NULL);
    if (s->connection != NULL) {
        int64_t now = bytes_read(m);
        if (now != QT_NONE && s->bytes_before != QT_NONE)
            out->bytes_received = now - s->bytes_before;
        s->bytes_before = now;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to the target. All of Connector/C that the engine uses is behind this; one thread at a time, but for
 * the socket's number, which `opened` is told so that another thread may shut it down. */
#ifndef QT_CONNECTION_H
#define QT_CONNECTION_H

#include "checksum.h"
#include "error.h"

/* Who opens a connection, and how. */
struct qt_login {
    int32_t account;        /* among options.accounts; -1 = options.user */
    int64_t client_flags;   /* capabilities of the original client; 0 = unknown */
    const char *charset;    /* NULL = options.charset */
    const char *db;         /* NULL = none */
};

struct qt_link {
    struct st_mysql *mysql; /* NULL = closed */
    int fd;
    int verify;             /* checksums of result rows are made */
    struct st_mariadb_methods *methods; /* the library's with one of ours; owned; NULL = the library's */
    char *row;              /* a row as it was on the wire; owned */
    size_t row_room;
    size_t bytes;           /* received up to the last answer */
    int64_t deadline_ns;    /* of connecting */
    char *error;            /* text of the last error; owned */
    struct qt_prepared *prepared; /* by number; owned */
    size_t n_prepared, prepared_room;
    struct st_mysql_stmt *receiving; /* whose answer is awaited; among `prepared` */
    const char *file;       /* what LOAD DATA LOCAL of the statement being sent may have; NULL = nothing */
    size_t file_len;
    uint64_t attributes_dropped; /* query attributes, which Connector/C does not send */
    uint64_t expanded;      /* executions that took the place of bulk ones */
    /* Called as soon as the socket is there, before the first byte is awaited. */
    void (*opened)(void *self, int fd);
    void *self;
};

struct qt_answer {
    int64_t first_ns, done_ns; /* CLOCK_MONOTONIC; 0 = never came */
    int64_t rows, affected, bytes, warnings;
    int error;                 /* errno of the first failing result; its text: qt_link_error */
    int lost;                  /* the connection is of no use any more */
    int binary;                /* the rows came in the binary protocol */
    struct qt_checksum sum;    /* of the rows, where the link verifies */
};

/* Connects, sets character set and runs `init`. 0, or the client's or server's errno with the link still to be closed. */
int qt_link_open(struct qt_link *, const struct qt_engine_options *, const struct qt_login *);
const char *qt_link_error(struct qt_link *); /* of the last command; "" = none */
int64_t qt_link_thread_id(struct qt_link *);
int qt_link_in_transaction(struct qt_link *);
int qt_link_autocommits(struct qt_link *);
void qt_link_close(struct qt_link *); /* says quit, where the connection still stands */

/* One statement: send, wait for the answer's first byte, receive. send and receive fill `answer`;
 * wait returns 0 when timeout_ms passed (-1 = none). */
int qt_link_send(struct qt_link *, const char *sql, size_t len, struct qt_answer *);
int qt_link_wait(struct qt_link *, int timeout_ms);
void qt_link_receive(struct qt_link *, struct qt_answer *);

/* For the parts of this: ends an answer with the error of its last step (0 = none). */
void qt_link_finish(struct qt_link *, struct qt_answer *, int error, const char *text);

/* Commands of one packet each way. */
void qt_link_select_db(struct qt_link *, const char *db, struct qt_answer *);
void qt_link_ping(struct qt_link *, struct qt_answer *);
/* Also sets character set and `init` anew, which the command undoes. */
void qt_link_reset(struct qt_link *, const struct qt_engine_options *, const char *charset, struct qt_answer *);
void qt_link_change_user(struct qt_link *, const struct qt_engine_options *, const struct qt_login *, struct qt_answer *);
void qt_link_set_option(struct qt_link *, int option, struct qt_answer *); /* enum enum_mysql_set_option */

#endif

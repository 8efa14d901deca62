/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a target and its answers. Only types, for all files that use connections. */
#ifndef QT_CONNECTION_STATE_H
#define QT_CONNECTION_STATE_H

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "querytape_engine.h"

#include <stdatomic.h>

/* Writable bytes before the parameters of an event, reserved for the statement's id. */
enum { QT_PARAMS_ROOM = 4 };

/* A prepared statement, kept by statements.c. If the target cannot prepare it, `stmt` is NULL and executions send its
 * text. */
struct qt_prepared {
    int64_t number; /* the statement's number on the tape */
    struct st_mysql_stmt *stmt;
    char *text; /* owned; NULL if `stmt` is set */
    size_t len;
};

/* Account and settings of a login. */
struct qt_login {
    int32_t account;      /* index in options.accounts; -1 = options.user */
    int64_t client_flags; /* capabilities of the original client; 0 = unknown */
    const char *charset;  /* NULL = options.charset */
    const char *names;    /* argument of SET NAMES for this collation; NULL = the charset's default */
    int32_t collation;    /* id of the original session's collation; 0 = unknown */
    const char *db;       /* initial schema; NULL = none */
};

/* State of direct_answer.c for a connection. Its own table of methods follows in memory. */
struct qt_direct {
    const struct st_ma_pvio_methods *library; /* the library's table of methods */
    struct qt_span left;                      /* bytes read from the socket but not yet by the library */
    int error;                                /* errno of the read; 0 = none */
};

struct qt_connection {
    struct st_mysql *mysql; /* NULL = closed */
    int fd;
    struct qt_direct *direct;           /* owned; NULL = the library reads every answer */
    int verify;                         /* whether to compute checksums of result rows */
    struct st_mariadb_methods *methods; /* owned copy of the library's table with one method replaced; or NULL */
    char *row;                          /* buffer for a row in wire format; owned */
    size_t row_room;
    size_t bytes;                 /* bytes received up to the last answer */
    int64_t deadline_ns;          /* deadline for connecting */
    char *error;                  /* text of the last error; owned; NULL = the library's text */
    struct qt_prepared *prepared; /* sorted by number; owned */
    size_t n_prepared, prepared_room;
    struct st_mysql_stmt *receiving; /* statement in `prepared` whose answer is awaited; NULL = sent as a query */
    const char *file;                /* file for the next LOAD DATA LOCAL of the command; NULL = none */
    size_t file_len;
    const char *more_files; /* files for later LOAD DATA LOCAL, each as lenenc length and bytes; NULL = none */
    size_t more_files_len;
    int file_missing;         /* the command needed a file that is not on the tape */
    int named;                /* query attributes are agreed on: parameters have names (query_attributes.h) */
    struct qt_bytes framed;   /* buffer for attributes and statement; owned */
    uint64_t bulk_rows;       /* number of executions sent in place of bulk executions */
    _Atomic uint64_t *counts; /* counters of the engine by enum qt_counter; may be NULL */
    unsigned long max_row;    /* largest allowed row, in bytes */
    int row_is_too_large;     /* a row is larger than max_row; the lost connection is not reported yet */
    int names_set;            /* SET NAMES was sent, because the library cannot log in with the collation */
    /* Collation of the last login or change of user. */
    int32_t collation; /* 0 = unknown */
    unsigned sent;     /* collation id in the login packet (the library has one per charset) */
    char names[128];   /* argument of SET NAMES; "" = the charset's default */
    /* Called as soon as the socket exists, before the first byte arrives. */
    void (*opened)(void *self, int fd);
    void *self;
};

static inline void qt_connection_count(struct qt_connection *c, enum qt_counter which, uint64_t by)
{
    if (c->counts != NULL)
        atomic_fetch_add_explicit(&c->counts[which], by, memory_order_relaxed);
}

struct qt_answer {
    int64_t first_ns, done_ns; /* CLOCK_MONOTONIC; 0 = did not arrive */
    int64_t rows, affected, bytes, warnings;
    int error;              /* errno of the first failed result; text: qt_connection_error */
    int lost;               /* the connection can no longer be used */
    int binary;             /* the rows use the binary protocol */
    struct qt_checksum sum; /* checksum of the rows, if the connection verifies */
};

#endif

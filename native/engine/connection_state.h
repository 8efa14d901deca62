/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a target and the answers that come on it: types alone, for all that stands above. */
#ifndef QT_CONNECTION_STATE_H
#define QT_CONNECTION_STATE_H

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "querytape_engine.h"

#include <stdatomic.h>

/* Writable bytes before the parameters of an event: the statement's id is put there. */
enum { QT_PARAMS_ROOM = 4 };

/* One prepared statement; statements.c keeps them. What the target cannot prepare has no `stmt`: it is sent as text. */
struct qt_prepared {
    int64_t number; /* the tape's */
    struct st_mysql_stmt *stmt;
    char *text; /* owned; NULL where there is a stmt */
    size_t len;
};

/* Who opens a connection, and how. */
struct qt_login {
    int32_t account;      /* among options.accounts; -1 = options.user */
    int64_t client_flags; /* capabilities of the original client; 0 = unknown */
    const char *charset;  /* NULL = options.charset */
    const char *names;    /* what SET NAMES takes for this collation; NULL = the set's default */
    int32_t collation;    /* id that the original asked for; 0 = unknown */
    const char *db;       /* NULL = none */
};

/* What direct_answer.c keeps of a connection; its own table of methods is behind it. */
struct qt_direct {
    const struct st_ma_pvio_methods *library; /* the library's table */
    struct qt_span left;                      /* read from the socket, not yet by the library */
    int error;                                /* errno of that read; 0 = none */
};

struct qt_connection {
    struct st_mysql *mysql; /* NULL = closed */
    int fd;
    struct qt_direct *direct;           /* owned; NULL = every answer is read by the library */
    int verify;                         /* checksums of result rows are made */
    struct st_mariadb_methods *methods; /* the library's with one of ours; owned; NULL = the library's */
    char *row;                          /* a row as it was on the wire; owned */
    size_t row_room;
    size_t bytes;                 /* received up to the last answer */
    int64_t deadline_ns;          /* of connecting */
    char *error;                  /* text of the last error; owned */
    struct qt_prepared *prepared; /* by number; owned */
    size_t n_prepared, prepared_room;
    struct st_mysql_stmt *receiving; /* whose answer is awaited; among `prepared`; NULL = of a query in its place */
    const char *file;                /* what the next LOAD DATA LOCAL of the command may have; NULL = nothing */
    size_t file_len;
    const char *more_files; /* for those behind it: of each the lenenc length and the bytes; NULL = none */
    size_t more_files_len;
    int file_missing;         /* the command was asked for a file that the tape does not hold */
    int named;                /* query attributes are agreed on: parameters have names (query_attributes.h) */
    struct qt_bytes framed;   /* a statement behind its attributes; owned */
    uint64_t bulk_rows;       /* executions that took the place of bulk ones, so far */
    _Atomic uint64_t *counts; /* the engine's, by enum qt_counter; or NULL */
    unsigned long max_row;    /* bytes */
    int row_is_too_large;     /* the library met one, and has not told yet that the connection is lost */
    int names_set;            /* SET NAMES was sent: the library cannot log in with the collation */
    /* What the session logged in with, or changed to. */
    int32_t collation; /* 0 = unknown */
    unsigned sent;     /* the collation that the packet named: the library has one for each character set */
    char names[128];   /* "" = the set's default */
    /* Called as soon as the socket is there, before the first byte is awaited. */
    void (*opened)(void *self, int fd);
    void *self;
};

static inline void qt_connection_count(struct qt_connection *c, enum qt_counter which, uint64_t by)
{
    if (c->counts != NULL)
        atomic_fetch_add_explicit(&c->counts[which], by, memory_order_relaxed);
}

struct qt_answer {
    int64_t first_ns, done_ns; /* CLOCK_MONOTONIC; 0 = never came */
    int64_t rows, affected, bytes, warnings;
    int error;              /* errno of the first failing result; its text: qt_connection_error */
    int lost;               /* the connection is of no use any more */
    int binary;             /* the rows came in the binary protocol */
    struct qt_checksum sum; /* of the rows, where the connection verifies */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A MySQL server for tests: any user may log in, and a statement says what is to happen.
 *
 *   SELECT ...   one column, two rows           SLEEP n   OK after n ms
 *   ERROR        error 1064                     DROP      the connection is closed without an answer
 *   HANG         no answer at all               WARN      OK: 3 rows affected, 2 warnings
 *   ROWS n       one column, n rows              BROKEN    three rows, then error 1317
 *   CHANGED      OK: session state changed
 *   CALL         two results and an OK          BEGIN     OK: in a transaction, until COMMIT
 *   SET autocommit=n   OK: as it says            TRAP      as BEGIN, but its COMMIT is as DROP
 *                                               SPOIL     as BEGIN, but its COMMIT is as ERROR
 *   HOLD n       OK once `let_go` is n or more    UNTIL KILL   error 1317, after a new KILL QUERY of its connection
 *   FILES n      asks for n files by LOCAL INFILE; what comes is kept as command 0xfb, each end as an empty one
 *   anything else: OK, 1 row affected
 * PREPARE of BEGIN fails with 1295, as MySQL's does.
 * USE of the schema `missing` fails with 1049. Everything received is kept. */
#ifndef QT_FAKE_SERVER_H
#define QT_FAKE_SERVER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct fake_entry {
    int connection; /* from 1, in the order of their greeting */
    int command;    /* the protocol's byte: 1 quit, 2 init_db, 3 query, 14 ping, 31 reset */
    int64_t at_ns;  /* CLOCK_MONOTONIC */
    size_t len;
    char *bytes; /* NUL-terminated beyond len */
};

struct fake_server {
    int listen_fd, port;
    int silent;          /* never greets */
    _Atomic int refuses; /* answers every login with error 1045 */
    _Atomic int whole;   /* sends each answer in one piece, instead of packet by packet */
    _Atomic int drops;   /* this command, where it is not 0, gets no answer: the connection is closed */
    _Atomic int let_go;  /* what HOLD waits for */
    _Atomic int leaves;  /* after a DROP it refuses */
    _Atomic int fails;   /* this command, where it is not 0, gets error 1064 */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    int connections, alive, open_fds[4096];
    struct fake_entry *entry;
    size_t n, space;
};

void fake_start(struct fake_server *);
/* Waits until every connection has seen its end, so that all it received is counted; gives up after 20 s. */
void fake_settle(struct fake_server *);
void fake_stop(struct fake_server *); /* ends connections as well, and frees */
/* How many entries have this command (and, where not NULL, exactly this text). */
int fake_count(struct fake_server *, int command, const char *text);
int64_t fake_now(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A MySQL server for tests. Any user may log in. The text of a statement selects the reply:
 *
 *   SELECT ...   one column, two rows           SLEEP n   OK after n ms
 *   ERROR        error 1064                     DROP      closes the connection without a reply
 *   HANG         no reply at all                WARN      OK: 3 rows affected, 2 warnings
 *   ROWS n       one column, n rows             BROKEN    three rows, then error 1317
 *   CHANGED      OK: session state changed
 *   CALL         two results and an OK          BEGIN     OK: in a transaction, until COMMIT
 *   SET autocommit=n   OK with autocommit n     TRAP      like BEGIN, but its COMMIT acts like DROP
 *                                               SPOIL     like BEGIN, but its COMMIT acts like ERROR
 *   HOLD n       OK when `let_go` is at least n   UNTIL KILL   error 1317, after a new KILL QUERY of its connection
 *   FILES n      requests n files with LOCAL INFILE; records their packets as command 0xfb
 *   anything else: OK, 1 row affected
 *
 * An empty packet ends each file of FILES and is recorded too. PREPARE of BEGIN fails with error 1295, as in MySQL. USE
 * of the schema `missing` fails with error 1049. The server records everything that it receives. */
#ifndef QT_FAKE_SERVER_H
#define QT_FAKE_SERVER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct fake_entry {
    int connection; /* connection number, from 1 in the order of the greetings */
    int command;    /* command byte of the protocol: 1 quit, 2 init_db, 3 query, 14 ping, 31 reset */
    int64_t at_ns;  /* time of CLOCK_MONOTONIC */
    size_t len;
    char *bytes; /* NUL after len bytes */
};

struct fake_server {
    int listen_fd, port;
    int silent;          /* the server never sends a greeting */
    _Atomic int refuses; /* every login gets error 1045 */
    _Atomic int whole;   /* each reply is sent in one piece instead of packet by packet */
    _Atomic int drops;   /* command byte that closes the connection without a reply; 0 = none */
    _Atomic int let_go;  /* HOLD n waits until `let_go` is at least n */
    _Atomic int leaves;  /* after a DROP, refuse all logins */
    _Atomic int fails;   /* command byte that gets error 1064; 0 = none */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    int connections, alive, open_fds[4096];
    struct fake_entry *entry;
    size_t n, space;
};

void fake_start(struct fake_server *);
/* Waits until every connection has ended and all its data is recorded. Gives up after 20 s. */
void fake_settle(struct fake_server *);
void fake_stop(struct fake_server *); /* also closes the connections; frees the memory */
/* Returns the number of recorded commands of this kind. A `text` other than NULL must match exactly. */
int fake_count(struct fake_server *, int command, const char *text);
int64_t fake_now(void);

#endif

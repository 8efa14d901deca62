/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   plan --Arrow--> feeder (the caller's thread) --queue of each session--> session threads --chunks--> outcome stream
 *                       ^ waits while the budget is full                        |  one each, own connection
 *   opener: creates each session's thread a little before it is due,            |
 *           sets the run's zero, later watches for the end (drain)  <-----------+
 *
 * A session's queue has one producer (the feeder) and one consumer (its thread). Finished chunks of outcomes are pushed on
 * one lock-free stack. A session waits for: its next event, the run's zero, an event's due time; all three on one futex
 * word, so that stop() can wake it with nothing but a store and a system call.
 */
#ifndef QT_ENGINE_PRIVATE_H
#define QT_ENGINE_PRIVATE_H

#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>

#include "arrow_build.h"
#include "error.h"
#include "histogram.h"
#include "querytape.h"

#define QT_NONE INT64_MIN /* a time or number that is not there */

/* COMMANDS of schemas/codes.py that the engine sends. */
enum { QT_COMMAND_QUERY = 1, QT_COMMAND_INIT_DB = 8, QT_COMMAND_PING = 9, QT_COMMAND_RESET = 10, QT_COMMAND_QUIT = 12 };

enum qt_reason { QT_R_NONE, QT_R_CONNECT, QT_R_LOST, QT_R_STOPPED, QT_R_DRAIN, QT_R_UNSUPPORTED, QT_R_SCHEMA, QT_R_THREAD };

struct qt_event { /* one allocation with its texts behind it; the session's thread frees it */
    struct qt_event *_Atomic next;
    int64_t seq, due_ns, fed_ns, flags;
    int32_t command, klass;
    size_t db_len, statement_len;
    int has_db;
    char bytes[]; /* db, NUL, statement */
};

struct qt_outcome {
    int64_t seq, due_ns, fed_ns, free_ns, sent_ns, first_ns, done_ns;
    int64_t rows_sent, rows_affected, bytes_received;
    int32_t warnings, error_number;
    char *error; /* owned; NULL = none */
    uint8_t executed, reason;
};

struct qt_chunk {
    struct qt_chunk *next;
    int64_t session;
    uint32_t n, room;
    struct qt_outcome rows[];
};

struct qt_session {
    struct qt_engine *engine;
    int64_t id, open_due_ns, planned;
    char *db;                       /* schema to begin with; NULL = the options' */
    int opened_ahead;

    pthread_t thread;
    int has_thread;                 /* set by the opener, read by free */
    pthread_mutex_t lock;           /* of fd and alive */
    int fd, alive;

    struct qt_event *head;          /* the consumer's: a dummy whose next is the first waiting */
    struct qt_event *tail;          /* the producer's */
    _Atomic uint32_t signal;        /* futex: anything to look at */
    _Atomic int wants_event;        /* the consumer waits for the feeder */
    _Atomic int no_thread;          /* it could not be created: the feeder writes its outcomes */

    /* the thread's own */
    MYSQL *connection;
    char *schema;                   /* as tracked; NULL = unknown or none */
    struct qt_chunk *chunk;
    int64_t chunk_since_ns;
    uint32_t chunk_room;
    int64_t bytes_before;           /* bytes received until the last event; QT_NONE = unknown */
    int dead;                       /* enum qt_reason: why nothing more can be sent */

    /* for the session's row in the run */
    int64_t connect_ns, connected_ns, closed_ns, executed, injected, thread_id;
    int in_transaction, error_number;
    char *error;
};

struct qt_engine {
    struct qt_engine_options options; /* texts are ours */
    struct qt_session *sessions;
    size_t n_sessions;
    uint32_t *by_id;                /* open-addressed: index + 1 */
    size_t n_slots;
    pthread_t opener;
    pthread_t *canaries;
    int n_canaries, has_opener;

    _Atomic int64_t zero_ns;        /* CLOCK_MONOTONIC of the run's zero; QT_NONE before */
    _Atomic int64_t zero_real_ns, max_due_ns, stop_at_ns;
    _Atomic int stop;               /* 0, 1, 2 as qt_engine_stop */
    _Atomic int cut;                /* sockets are shut: nothing may wait for an answer any more */
    _Atomic int fed_enough, feed_ended, opened_all, done;
    _Atomic uint32_t signal;        /* futex of opener and feeder */
    _Atomic uint32_t outcome_signal;
    _Atomic int64_t early_left;     /* sessions due at the start that are not yet connected or failed */
    _Atomic int64_t running;        /* session threads alive or to be created */

    _Atomic int64_t queued_bytes;
    _Atomic int feeder_waits;
    struct qt_chunk *_Atomic finished;
    _Atomic int64_t pending_rows;
    struct qt_chunk *feeder_chunk;

    _Atomic uint64_t fed, executed, not_sent, reads, writes, others, errors, injected, drain_cut;
    _Atomic uint64_t opened, failed, lost, open_now;
    _Atomic int64_t cpu_ended_ns;
    struct qt_histogram service, late, tool, canary;
    uint64_t service_before[QT_HISTOGRAM_BUCKETS], late_before[QT_HISTOGRAM_BUCKETS];
    pthread_mutex_t stats_lock;
};

/* clock.c */
int64_t qt_now(void);                                        /* CLOCK_MONOTONIC */
int64_t qt_thread_cpu(void);                                 /* of the calling thread */
void qt_precise_sleep(void);                                 /* timer slack of the calling thread to 1 ns */
/* Waits until *word != seen or the deadline (QT_NONE = none). Returns 0 on a wake, 1 at the deadline. */
int qt_wait(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns);
void qt_wake(_Atomic uint32_t *word);                        /* signal-safe */

/* connection.c: all of libmariadb. Each returns 0 or MySQL's error number. */
int qt_connection_open(struct qt_session *);
void qt_connection_close(struct qt_session *);
int qt_connection_schema(struct qt_session *, const char *db);
void qt_connection_send(struct qt_session *, const struct qt_event *, struct qt_outcome *);
int qt_error_is_loss(int error_number);

/* session.c */
void *qt_session_main(void *session);

/* outcomes.c */
int qt_outcome_add(struct qt_session *, const struct qt_outcome *, int64_t now_ns);
void qt_outcome_flush(struct qt_session *);
void qt_outcome_drop(struct qt_engine *); /* frees what nobody pulled */

/* opener.c */
void *qt_opener_main(void *engine);
void *qt_canary_main(void *engine);
void qt_engine_cut(struct qt_engine *);

/* feeder.c */
struct qt_session *qt_engine_session(struct qt_engine *, int64_t id);
int qt_engine_index(struct qt_engine *);

#endif

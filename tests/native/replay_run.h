/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the engine in a test. The plan is built row by row. One thread feeds the plan to the engine, and the calling
 * thread collects the outcomes. */
#ifndef QT_REPLAY_RUN_H
#define QT_REPLAY_RUN_H

#include <pthread.h>

#include "base/arrow_stream.h"
#include "base/checksum.h"
#include "fake_server.h"
#include "querytape_engine.h"

#define MS 1000000LL
#define NO_VALUE INT64_MIN

struct outcome {
    int64_t session, seq, due_ns, queued_ns, free_ns, sent_ns, first_ns, done_ns, rows, affected, bytes, warnings,
        error;
    int64_t order_ns;
    char status[16], reason[24], text[128], checksum[48];
};

struct replay {
    struct fake_server server;
    struct qt_engine_options options;
    struct qt_engine *engine;
    struct qt_columns sessions, events;
    struct outcome *outcome;
    size_t n, space;
    struct qt_engine_stats stats;
    void (*each_slice)(struct replay *); /* called about every 20 ms during the run; may be NULL */
    int64_t begun_ns, client_flags;      /* fields of the next added sessions; 0 = unknown */
    int stopped, fed_code, no_reading;
    struct qt_error fed_error;
};

struct planned {
    int64_t session, seq, due_ns, span_ns, flags, stmt, clock_us, insert_id; /* stmt, clock_us, insert_id: 0 = none */
    int command;
    const char *db, *sql, *params, *insert_ids, *waits, *digest; /* NULL = none */
    size_t len, params_len;
};

void replay_init(struct replay *); /* sets up a fake server and generous options */
void replay_session(struct replay *, int64_t id, int64_t open_due_ns, int64_t events, const char *db);
void replay_put(struct replay *, const struct planned *);
void replay_event(struct replay *, int64_t session, int64_t seq, int64_t due_ns, const char *sql);
void replay_full_event(struct replay *, int64_t session, int64_t seq, int64_t due_ns, int command, int64_t flags,
                       const char *db, const char *bytes, size_t len); /* bytes may be NULL */
/* Adds an event of session 1 for prepared statement `stmt`. The event is due at `seq` ns. `sql` and `params` may be
 * NULL. */
void replay_stmt_event(struct replay *, int64_t seq, int command, int64_t stmt, const char *sql, const char *params,
                       size_t len);
void replay_run(struct replay *); /* runs to the end; sorts outcomes by session, seq */
struct outcome *replay_find(struct replay *, int64_t session, int64_t seq);
int replay_count(struct replay *, const char *status, const char *reason); /* reason NULL = any */
void replay_free(struct replay *);

#endif

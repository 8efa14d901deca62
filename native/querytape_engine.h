/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of the public header: the replay engine and the null server. The rules of querytape.h apply. Both the
 * compiler and cffi read the part between the marks. */
#ifndef QUERYTAPE_ENGINE_H
#define QUERYTAPE_ENGINE_H

#include "querytape.h"

/* cffi: begin */
/* ---- the replay engine (engine/) --------------------------------------------------------------------------- */

struct qt_engine;

/* Why the engine stopped by itself. */
enum qt_ended_by { QT_BY_NOTHING = 0, QT_BY_ERRORS = 1, QT_BY_LOSS = 2, QT_BY_OVERLOAD = 3 };

/* Counters since the start, and current values. Any thread may read them. */
struct qt_engine_stats {
    struct qt_engine_counts counts; /* explained in schemas/names.toml */
    uint64_t sessions_open, queued_bytes;
    int64_t now_ns;        /* time since the run's zero; negative before zero */
    int64_t engine_cpu_ns; /* CPU time of the engine's threads, including ended threads */
    /* Quantiles since the previous call of qt_engine_stats; -1 without events. */
    int64_t p95_ns;      /* service time */
    int64_t late_p99_ns; /* time sent minus time due */
    /* Quantiles of the whole run, from histograms with buckets of at most 2 %. */
    int64_t tool_p50_ns, tool_p99_ns, tool_p999_ns;    /* time sent minus the latest of due, queued, free */
    int64_t probe_p50_ns, probe_p99_ns, probe_p999_ns; /* -1 without timer probes */
    int64_t zero_real_ns;                              /* wall clock at the run's zero; 0 before it */
    int32_t state;                                     /* enum qt_engine_state */
    int32_t ended_by;                                  /* enum qt_ended_by */
};

/* Histograms of the whole run, for readers during the run. Bounds are powers of two, from 2^13 ns (8 us) to 2^36 ns (69
 * s). They are also bounds of the engine's own buckets, so the counts are exact. */
enum { QT_METER_FIRST = 13, QT_METER_BOUNDS = 24, QT_METER_ERRORS = 256 };

struct qt_meter {
    uint64_t below[QT_METER_BOUNDS]; /* values below 2^(QT_METER_FIRST + i) ns */
    uint64_t all;
    int64_t sum_ns;
};

enum qt_kind { QT_KIND_READ = 0, QT_KIND_WRITE = 1, QT_KIND_OTHER = 2, QT_KINDS = 3 };

/* Why an event was sent later than due. The parts of one event add up to its lateness. */
enum { QT_CAUSES = QT_LATE_TOOL + 1 };

struct qt_engine_meters {
    struct qt_meter service[QT_KINDS]; /* by enum qt_kind; only answered events */
    struct qt_meter late;              /* all sent events that had a due time */
    struct qt_meter delay[QT_CAUSES];  /* by enum qt_lateness; only events with this delay */
    int64_t last_due_ns;               /* due time of the last fed event */
    int32_t n_errors;                  /* different error numbers; those beyond QT_METER_ERRORS share one count */
    int32_t error_number[QT_METER_ERRORS];
    uint64_t error_count[QT_METER_ERRORS], errors_elsewhere;
};

/* Current activity of an open session. */
struct qt_doing {
    int64_t session;
    int64_t seq;        /* seq of the last event that was begun; -1 = none */
    int64_t connection; /* connection id on the target; -1 = none */
    int64_t table;      /* table whose commits the event waits for; -1 = none */
    int64_t commit;     /* number of the table's first unfinished commit; 0 without a table */
    int32_t asleep;     /* 0 = waiting for the target's answer */
};

/* Time of one digest so far. Includes answered events whose outcomes were read. */
struct qt_digest_time {
    uint64_t digest; /* the 16 hex digits as a number */
    uint64_t count;
    int64_t sum_ns, max_ns; /* service time */
    int64_t unsure_ns;      /* maximum time that was not counted; 0 unless there are thousands of digests */
};

enum qt_engine_state {
    QT_ENGINE_NEW = 0,
    QT_ENGINE_OPENING = 1, /* connecting the sessions that are open at the start */
    QT_ENGINE_READY = 2,   /* ready; with options.holds it waits for qt_engine_go */
    QT_ENGINE_RUNNING = 3,
    QT_ENGINE_DRAINING = 4,
    QT_ENGINE_DONE = 5 /* all outcomes are in the outcome stream or were read */
};

/* Creates an engine and copies the options with their texts. schemas/names.toml explains the options. */
struct qt_engine *qt_engine_new(const struct qt_engine_options *, struct qt_error *);
/* Takes all sessions from a stream, sorted by open_due_ns, before qt_engine_start. With options.follows
 * the feeding thread may call it again while the engine runs. The call then adds new sessions, and increases
 * the number of events of existing sessions. Columns, in this order:
 *   session BIGINT        includes the clone's number << QT_SHIFT_CLONE
 *   open_due_ns BIGINT    when to connect, from the run's zero; negative or 0 = before the start
 *   events BIGINT         number of planned events: the session is closed after the last event
 *   db VARCHAR            schema to connect with; NULL = options.db
 *   opened_ahead BOOLEAN
 *   account INTEGER       index in options.accounts; NULL = options.user
 *   client_flags BIGINT   capabilities of the original client; NULL = unknown
 *   charset VARCHAR       charset of the login; NULL = options.charset
 *   collation_id INTEGER  id of the original login's collation; NULL = unknown
 *   names VARCHAR         argument of SET NAMES for that collation; NULL = the target does not know it */
int qt_engine_sessions(struct qt_engine *, struct ArrowArrayStream *in, struct qt_error *);
/* Starts the engine's threads and returns at once. The run's zero is set when the first sessions are connected and the
 * first events are fed (or the plan has ended). */
int qt_engine_start(struct qt_engine *, struct qt_error *);
/* Sets the run's zero to zero_ns of CLOCK_MONOTONIC. Requires options.holds and state QT_ENGINE_READY, and works only
 * once. Returns QT_ESTATE if zero_ns is in the past, or too soon to wake all sessions. Any thread may call it. */
int qt_engine_go(struct qt_engine *, int64_t zero_ns, struct qt_error *);
/* Takes planned events, sorted by due_ns, session, seq. Blocks while the budget is full. The function may be called
 * again with the next stream. Returns early, with QT_OK, after qt_engine_stop. Columns, in this order:
 *   session BIGINT, seq BIGINT
 *   due_ns BIGINT      from the run's zero
 *   span_ns BIGINT     duration on the tape, at this speed
 *   command INTEGER    commands in schemas/names.toml; unknown commands become not_sent 'unsupported'
 *   class INTEGER      classes in schemas/names.toml, or -1
 *   actions BIGINT     QT_ACTION_*; 0 if the command executes nothing
 *   flags BIGINT       flags in schemas/names.toml, QT_PLAN_FOR_READ_TARGET, QT_PLAN_FOR_BOTH, QT_PLAN_FAILED
 *   account INTEGER    change_user: the new account; NULL = options.user
 *   db VARCHAR         NULL = unknown
 *   stmt BIGINT        number of the prepared statement in its session, or NULL; process_kill: the session to kill
 *   statement BLOB     NULL if the command has none
 *   params BLOB        schemas/params.md; an execute without params is sent as text
 *   clock_us BIGINT    value for SET timestamp before the event; NULL = none
 *   insert_id BIGINT   value for SET insert_id before the event; NULL = none
 *   insert_ids VARCHAR "offset:id,...": SET insert_id before the statements at these offsets of the text; NULL = none
 *   waits VARCHAR      NULL, or "3:17 5:2;3:18": wait for the first 17 commits on table 3 and 2 on table 5; the event
 *                      itself is commit 18 on table 3
 *   digest VARCHAR     16 hex digits, for qt_engine_slowest; NULL = none
 * DuckDB produces these columns with arrow_large_buffer_size=true: formats l l l l i i l l i U l Z Z l l U U U. */
int qt_engine_feed(struct qt_engine *, struct ArrowArrayStream *in, struct qt_error *);
int qt_engine_feed_end(struct qt_engine *, struct qt_error *);
/* Changes the speed: from now on the plan runs `factor` times as fast (1 = as planned). 0 pauses the plan: nothing is
 * sent until the next change, and the pause makes no event late. Any thread may call it. */
int qt_engine_set_speed(struct qt_engine *, double factor, struct qt_error *);
/* Returns a stream of outcomes that ends after slice_ns, or at the end of the run. The columns are those of table
 * `outcomes` in schemas/run.sql. */
int qt_engine_outcomes(struct qt_engine *, int64_t slice_ns, struct ArrowArrayStream *out, struct qt_error *);
/* Returns a stream with one row per session, after QT_ENGINE_DONE. The columns are those of table `sessions` in
 * schemas/run.sql. */
int qt_engine_session_results(struct qt_engine *, struct ArrowArrayStream *out, struct qt_error *);
void qt_engine_stats(struct qt_engine *, struct qt_engine_stats *out);
/* Like qt_engine_stats, but for additional readers. The quantiles since the previous call are -1, and the period of
 * qt_engine_stats is not reset. */
void qt_engine_peek(struct qt_engine *, struct qt_engine_stats *out);
void qt_engine_meters(struct qt_engine *, struct qt_engine_meters *out); /* any thread */
/* Returns how many of the fed events are due by now. Returns -1 if events have no due time of their own (QT_PACE_THINK,
 * QT_PACE_NONE). In a long run the time is only exact to a 2048th of the run's length. Any thread may call it. */
int64_t qt_engine_due(struct qt_engine *);
/* Fills `out` with the digests that have the most service time, in descending order. `most` is the size of `out`.
 * Returns the number of digests in `out`. Any thread may call it. */
int32_t qt_engine_slowest(struct qt_engine *, struct qt_digest_time *out, int32_t most);
/* Fills `out` with the activity of each open session, up to `most` entries. Returns the number of open sessions. Any
 * thread may call it. */
int32_t qt_engine_doing(struct qt_engine *, struct qt_doing *out, int32_t most);
/* Returns the error text of the first session that could not connect, and its error number in *number. Returns NULL if
 * each session could connect. The text lives as long as the engine. Any thread may call it. */
const char *qt_engine_connect_error(struct qt_engine *, int32_t *number);
/* The order of commits over several engines, which replay parts of one plan with the same order_tables. Each engine
 * passes its finished commits to the others. Commits are pairs (table, number).
 *
 * qt_engine_share names the tables whose commits other engines need. It may be called once, after qt_engine_start and
 * before qt_engine_go. From then on, only qt_engine_let_go breaks stuck waits. Any thread may call the other functions.
 * - qt_engine_finished: takes up to `most` commits of these tables that this engine has finished. Waits up to wait_ns
 *   for the first of them. Returns their number. `pairs` has room for 2 * most numbers.
 * - qt_engine_settle: commits that other engines have finished.
 * - qt_engine_stuck: returns the due time of the next stuck wait to break, or INT64_MAX. *is_cause: whether the wait
 *   may be the cause of the deadlock. Such waits come first.
 * - qt_engine_let_go: breaks this wait. */
int qt_engine_share(struct qt_engine *, const int32_t *tables, int32_t n, struct qt_error *);
int32_t qt_engine_finished(struct qt_engine *, int64_t *pairs, int32_t most, int64_t wait_ns);
int qt_engine_settle(struct qt_engine *, const int64_t *pairs, int32_t n, struct qt_error *);
int64_t qt_engine_stuck(struct qt_engine *, int32_t *is_cause);
void qt_engine_let_go(struct qt_engine *);
/* Stops the engine. how = 1: send nothing more, wait drain_ns for answers, then close. how = 2: shut down the sockets.
 * Any thread or signal handler may call it. */
void qt_engine_stop(struct qt_engine *, int32_t how);
/* Sets a limit on CLOCK_MONOTONIC. A session that finds the limit in the past stops the engine (how = 1) instead of
 * sending its next event. 0 means no limit. Any thread may call it. */
void qt_engine_send_until(struct qt_engine *, int64_t until_ns);
void qt_engine_free(struct qt_engine *); /* stops a running engine with how = 2, joins every thread */

/* ---- the null server (null_server/) -------------------------------------------------------------------------- */

struct qt_null_server;
/* Starts a server that listens on a free loopback port, or on a unix socket. The server answers every command at once
 * or after delay_ns. */
struct qt_null_server *qt_null_start(const char *socket_path, int32_t threads, int64_t delay_ns, struct qt_error *);
int32_t qt_null_port(const struct qt_null_server *); /* 0 for a unix socket */
uint64_t qt_null_answers(struct qt_null_server *);   /* number of answers so far; any thread */
void qt_null_stop(struct qt_null_server *);          /* closes all connections, frees the server; NULL is allowed */

/* cffi: end */

#endif

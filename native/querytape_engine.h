/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of the public header: the replay engine and the null server. The rules of querytape.h hold.
 * The compiler and cffi read the part between the marks. */
#ifndef QUERYTAPE_ENGINE_H
#define QUERYTAPE_ENGINE_H

#include "querytape.h"

/* cffi: begin */
/* ---- the replay engine (engine/) --------------------------------------------------------------------------- */

struct qt_engine;

/* Why the engine stopped by itself. */
enum qt_ended_by { QT_BY_NOTHING = 0, QT_BY_ERRORS = 1, QT_BY_LOSS = 2, QT_BY_OVERLOAD = 3 };

/* Counters since the start, and what is now. Read from any thread. */
struct qt_engine_stats {
    struct qt_engine_counts counts; /* schemas/names.toml says what each counts */
    uint64_t sessions_open, queued_bytes;
    int64_t now_ns;        /* since the run's zero; negative before it */
    int64_t engine_cpu_ns; /* CPU time of the engine's own threads, ended ones included */
    /* Quantiles of what happened since the previous call of qt_engine_stats; -1 where nothing did. */
    int64_t p95_ns;      /* service time */
    int64_t late_p99_ns; /* sent less due */
    /* Whole run, from histograms with buckets of at most 2 %. */
    int64_t tool_p50_ns, tool_p99_ns, tool_p999_ns;    /* sent less the latest of due, queued, free */
    int64_t probe_p50_ns, probe_p99_ns, probe_p999_ns; /* -1 without timer probes */
    int64_t zero_real_ns;                              /* wall clock at the run's zero; 0 before it */
    int32_t state;                                     /* enum qt_engine_state */
    int32_t ended_by;                                  /* enum qt_ended_by */
};

/* Histograms of the whole run, for who asks while it goes on. Bounds are powers of two, from 2^13 ns (8 us) to 2^36 ns
 * (69 s): they are bounds of the engine's own buckets, so nothing is rounded. */
enum { QT_METER_FIRST = 13, QT_METER_BOUNDS = 24, QT_METER_ERRORS = 256 };

struct qt_meter {
    uint64_t below[QT_METER_BOUNDS]; /* those below 2^(QT_METER_FIRST + i) ns */
    uint64_t all;
    int64_t sum_ns;
};

enum qt_kind { QT_KIND_READ = 0, QT_KIND_WRITE = 1, QT_KIND_OTHER = 2, QT_KINDS = 3 };

/* Why an event was sent later than due; the parts of one event add up to its lateness. */
enum { QT_CAUSES = QT_LATE_TOOL + 1 };

struct qt_engine_meters {
    struct qt_meter service[QT_KINDS]; /* by enum qt_kind; those that were answered */
    struct qt_meter late;              /* all that were sent, where they were due */
    struct qt_meter delay[QT_CAUSES];  /* by enum qt_lateness; those that it held back */
    int64_t last_due_ns;               /* of what was fed */
    int32_t n_errors;                  /* numbers seen; more than QT_METER_ERRORS of them are counted together */
    int32_t error_number[QT_METER_ERRORS];
    uint64_t error_count[QT_METER_ERRORS], errors_elsewhere;
};

/* What an open session is doing. */
struct qt_doing {
    int64_t session;
    int64_t seq;        /* of its last event that was begun; -1 = none */
    int64_t connection; /* its id on the target; -1 = none */
    int64_t table;      /* whose commits that event waits for; -1 = it waits for none */
    int64_t commit;     /* the number of the first commit of the table that is not done; 0 without a table */
    int32_t asleep;     /* 0 = the target is to answer */
};

/* What one digest has cost so far: what was answered and read as an outcome. */
struct qt_digest_time {
    uint64_t digest; /* its 16 hex digits as a number */
    uint64_t count;
    int64_t sum_ns, max_ns; /* service time */
    int64_t unsure_ns; /* 0; or, with thousands of digests, how much more it may be: it was out of memory for a while */
};

enum qt_engine_state {
    QT_ENGINE_NEW = 0,
    QT_ENGINE_OPENING = 1, /* connecting the sessions that are due at the start */
    QT_ENGINE_READY = 2,   /* all is ready; with options.holds it waits for qt_engine_go */
    QT_ENGINE_RUNNING = 3,
    QT_ENGINE_DRAINING = 4,
    QT_ENGINE_DONE = 5 /* every outcome is in the outcome stream or was pulled */
};

/* Copies the options (texts too), which schemas/names.toml explains. */
struct qt_engine *qt_engine_new(const struct qt_engine_options *, struct qt_error *);
/* Takes all sessions from a stream, sorted by open_due_ns, before qt_engine_start. With options.follows it may be
 * called again while the engine runs, by the thread that feeds: new sessions are added, those that are there have so
 * many more events. Columns, in this order:
 *   session BIGINT        its clone's number << QT_SHIFT_CLONE added
 *   open_due_ns BIGINT    when to connect, from the run's zero; negative or 0 = before the start
 *   events BIGINT         planned for it: it is closed after the last
 *   db VARCHAR            schema to connect with; NULL = options.db
 *   opened_ahead BOOLEAN
 *   account INTEGER       among options.accounts; NULL = options.user
 *   client_flags BIGINT   capabilities of the original client; NULL = unknown
 *   charset VARCHAR       to log in with; NULL = options.charset
 *   collation_id INTEGER  id of the original login's collation; NULL = unknown
 *   names VARCHAR         what SET NAMES takes for it on the target; NULL = the target doesn't know it */
int qt_engine_sessions(struct qt_engine *, struct ArrowArrayStream *in, struct qt_error *);
/* Starts the engine's threads; returns at once. The run's zero comes when the sessions due at the start are connected
 * and the first events are fed (or the plan has ended). */
int qt_engine_start(struct qt_engine *, struct qt_error *);
/* With options.holds, at QT_ENGINE_READY: the run's zero is at zero_ns of CLOCK_MONOTONIC. Once; a zero that cannot be
 * kept any more, for it is past or all sessions can't be woken until then, is refused: QT_ESTATE. Any thread. */
int qt_engine_go(struct qt_engine *, int64_t zero_ns, struct qt_error *);
/* Takes planned events, sorted by due_ns, then session, seq; blocks while the budget is full; may be called again
 * with the next stream. Returns early, with QT_OK, after qt_engine_stop. Columns, in this order:
 *   session BIGINT, seq BIGINT
 *   due_ns BIGINT      from the run's zero
 *   span_ns BIGINT     how long it took on the tape, at this speed
 *   command INTEGER    commands in schemas/names.toml; those the engine does not send are not_sent 'unsupported'
 *   class INTEGER      classes in schemas/names.toml, or -1
 *   actions BIGINT     QT_ACTION_*; 0 where the command executes nothing
 *   flags BIGINT       flags in schemas/names.toml, QT_PLAN_FOR_READ_TARGET, QT_PLAN_FOR_BOTH, QT_PLAN_FAILED
 *   account INTEGER    change_user: to which; NULL = options.user
 *   db VARCHAR         NULL = unknown
 *   stmt BIGINT        the prepared statement's number in its session, or NULL; process_kill: the session that is meant
 *   statement BLOB     NULL where the command has none
 *   params BLOB        schemas/params.md; an execute without is sent as text
 *   clock_us BIGINT    SET timestamp before it; NULL = not
 *   insert_id BIGINT   SET insert_id before it; NULL = not
 *   insert_ids VARCHAR "offset:id,...": SET insert_id before each of these statements of its text; NULL = not
 *   waits VARCHAR      NULL, or "3:17 5:2;3:18": not before the first 17 commits on table 3 and 2 on table 5; itself
 *                      commit 18 on table 3
 *   digest VARCHAR     16 hex digits, of which qt_engine_slowest tells; NULL = none
 * DuckDB gives them so with arrow_large_buffer_size=true: formats l l l l i i l l i U l Z Z l l U U U. */
int qt_engine_feed(struct qt_engine *, struct ArrowArrayStream *in, struct qt_error *);
int qt_engine_feed_end(struct qt_engine *, struct qt_error *);
/* From now on due times come `factor` times as fast as the plan has them (1 = as planned); 0: nothing more is sent
 * until another factor comes, and nothing becomes late by that. Any thread. */
int qt_engine_set_speed(struct qt_engine *, double factor, struct qt_error *);
/* A stream of outcomes that ends after slice_ns (or at the end of the run). Columns: outcomes of schemas/run.sql. */
int qt_engine_outcomes(struct qt_engine *, int64_t slice_ns, struct ArrowArrayStream *out, struct qt_error *);
/* After QT_ENGINE_DONE: one row a session. Columns: sessions of schemas/run.sql. */
int qt_engine_session_results(struct qt_engine *, struct ArrowArrayStream *out, struct qt_error *);
void qt_engine_stats(struct qt_engine *, struct qt_engine_stats *out);
/* The same for others than who makes ticks: the quantiles since the previous call are -1, and that call stays. */
void qt_engine_peek(struct qt_engine *, struct qt_engine_stats *out);
void qt_engine_meters(struct qt_engine *, struct qt_engine_meters *out); /* any thread */
/* How many of the events fed are due by now; -1 where they have no time of their own (QT_PACE_THINK, QT_PACE_NONE). Of
 * a long run to within a 2048th of its length. Any thread. */
int64_t qt_engine_due(struct qt_engine *);
/* The digests with the most service time, the most first; `most` of them fit into `out`. Returns how many there are.
 * Any thread. */
int32_t qt_engine_slowest(struct qt_engine *, struct qt_digest_time *out, int32_t most);
/* What each open session is doing; `most` of them fit into `out`. Returns how many there are. Any thread. */
int32_t qt_engine_doing(struct qt_engine *, struct qt_doing *out, int32_t most);
/* how = 1: send nothing more, let answers come for drain_ns, close; 2: shut the sockets. Any thread; signal-safe. */
void qt_engine_stop(struct qt_engine *, int32_t how);
void qt_engine_free(struct qt_engine *); /* stops with 2 where it still runs, joins every thread */

/* ---- the null server (null_server/) -------------------------------------------------------------------------- */

struct qt_null_server;
/* Listens on a free port of the loopback, or on a unix socket, and answers anything at once or after delay_ns. */
struct qt_null_server *qt_null_start(const char *socket_path, int32_t threads, int64_t delay_ns, struct qt_error *);
int32_t qt_null_port(const struct qt_null_server *); /* 0 on a unix socket */
uint64_t qt_null_answers(struct qt_null_server *);   /* so far; any thread */
void qt_null_stop(struct qt_null_server *);          /* ends connections as well, and frees; NULL does nothing */

/* cffi: end */

#endif

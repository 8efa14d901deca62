/* SPDX-License-Identifier: Apache-2.0 */
/* querytape's native part: the whole public face, read by the compiler and by cffi.
 *
 * Conventions
 *  - A function that can fail returns 0 or one of enum qt_code and fills `struct qt_error` (which may be NULL).
 *  - Nothing prints, nothing exits, there is no global state. What `_new`/`_open` returns is the caller's, who gives it
 *    to the matching `_free`/`_close`. Texts returned inside a struct belong to the object that filled it.
 *  - Times are int64 nanoseconds; names say from when.
 *  - Rows cross the border as Arrow C streams (arrow_abi.h). A stream handed out does nothing before its first get_next,
 *    and may be asked for several times; it must not outlive the object it came from.
 */
#ifndef QUERYTAPE_H
#define QUERYTAPE_H

#include <stddef.h>
#include <stdint.h>

/* cffi: begin */

struct ArrowArrayStream;

enum qt_code {
    QT_OK = 0,
    QT_EINVALID = 1, /* an argument is out of its range */
    QT_EIO = 2,      /* a system call failed; the message has its text */
    QT_EFORMAT = 3,  /* the input is not what it was said to be */
    QT_ENOMEM = 4,
    QT_ECONNECT = 5, /* the server could not be reached or refused us */
    QT_ESTATE = 6    /* called at the wrong moment */
};

struct qt_error {
    int code; /* enum qt_code */
    char message[508];
};

/* ---- statements: lexer, normaliser, digest (normalize.c) ------------------------------------------------- */

/* Classes, in the order of CLASSES in schemas/codes.py. */
enum qt_class {
    QT_CLASS_READ = 0,
    QT_CLASS_WRITE = 1,
    QT_CLASS_TRANSACTION = 2,
    QT_CLASS_SESSION = 3,
    QT_CLASS_DDL = 4,
    QT_CLASS_ADMIN = 5
};

/* Bits of the tape's `flags` column: FLAGS in schemas/codes.py. */
#define QT_F_TIME_INFERRED 1
#define QT_F_DURATION_CUT 2
#define QT_F_REDACTED 4
#define QT_F_TRUNCATED 8
#define QT_F_ROUTINE 16
#define QT_F_USE 32
#define QT_F_TIMESTAMP 64
#define QT_F_PLACEHOLDER 128
#define QT_F_SYSTEM 256
#define QT_F_SQL_PREPARE 512
#define QT_F_CLOCK_GUESSED 1024
#define QT_F_KILLED 2048
#define QT_F_UNBOUND 4096

/* Bits that a plan adds for qt_engine_options.reader. */
#define QT_PLAN_FOR_READER 1099511627776 /* outside a transaction it may be answered by the reader */
#define QT_PLAN_FOR_BOTH 2199023255552  /* what it changes in its session the reader's connection needs as well */

/* Danger codes, kept in bits 16-23 of `flags`: DANGERS in schemas/codes.py. */
enum qt_danger {
    QT_DANGER_NONE = 0,
    QT_DANGER_SHUTDOWN = 1,
    QT_DANGER_KILL = 2,
    QT_DANGER_SET_GLOBAL = 3,
    QT_DANGER_ACCOUNTS = 4,
    QT_DANGER_REPLICATION = 5,
    QT_DANGER_LOAD_DATA = 6,
    QT_DANGER_INTO_FILE = 7,
    QT_DANGER_PLUGINS = 8,
    QT_DANGER_FLUSH = 9,
    QT_DANGER_TABLE_MAINTENANCE = 10,
    QT_DANGER_INSTANCE = 11,
    QT_DANGER_SET_SESSION_UNSAFE = 12,
    QT_DANGER_LOCK_TABLES = 13
};

struct qt_statement {
    uint64_t digest;         /* XXH3-64 of the normalised text; shown as 16 lower-case hex digits */
    const char *text;        /* the normalised text, ASCII-safe bytes of the input only; not NUL-terminated */
    size_t text_len;
    const char *redacted;    /* NULL, or the statement with its literals replaced */
    size_t redacted_len;
    int32_t klass;           /* enum qt_class */
    int32_t danger;          /* enum qt_danger */
    uint32_t flags;          /* QT_F_REDACTED, QT_F_USE, QT_F_TIMESTAMP, QT_F_SQL_PREPARE, QT_F_PLACEHOLDER */
    int32_t open_quote;      /* the byte that opened a literal or comment that never ends (' " ` or *), else 0 */
};

struct qt_normalizer;
struct qt_normalizer *qt_normalizer_new(void); /* NULL when out of memory */
void qt_normalizer_free(struct qt_normalizer *);
/* Normalises one statement of `len` bytes (any bytes at all). `out` holds until the next call with the same normaliser. */
int qt_normalize(struct qt_normalizer *, const char *sql, size_t len, struct qt_statement *out, struct qt_error *);

/* ---- stand-ins (sql/standins.h) ------------------------------------------------------------------------------ */

struct qt_standins;
struct qt_standins *qt_standins_new(const uint8_t *key); /* 16 bytes; NULL when out of memory */
void qt_standins_free(struct qt_standins *);
/* The rows of `in` with values replaced, as columns c0, c1, ...; `in` and the stand-ins must outlive `out`. `what` has a letter for
 * each column (of at most 8): l BIGINT, kept; s BLOB, statements; p BLOB, parameters; m VARCHAR, messages; t VARCHAR,
 * values. With 64-bit offsets. */
int qt_standins_stream(struct qt_standins *, struct ArrowArrayStream *in, const char *what, struct ArrowArrayStream *out,
                       struct qt_error *);

/* ---- readers: what every source has (sources/reader.c) ------------------------------------------------------ */

struct qt_reader;

/* Counters; may be read from any thread while a part is being pulled. */
struct qt_reader_stats {
    uint64_t bytes_read;       /* of the files as they are stored (compressed where they are) */
    uint64_t bytes_parsed;     /* uncompressed */
    uint64_t events;
    uint64_t sessions;
    uint64_t problems;
    uint64_t lost;             /* of live captures: packets or rows that were dropped */
    int64_t first_ns;          /* earliest start and latest end so far; INT64_MAX and INT64_MIN before the first event */
    int64_t last_ns;
    int32_t file;              /* being read now, from 0 */
    int32_t finished;
};

/* A stream of the next part: one batch of about max_rows events or max_bytes of statements, sorted by start; the first
 * part's bounds hold for all, a quarter of them for the first four. None comes at the end of the input (stats.finished). One stream at a time. Columns: events
 * of schemas/tape.sql. A thread of the reader's own parses the part behind it meanwhile. */
int qt_reader_part(struct qt_reader *, uint64_t max_rows, uint64_t max_bytes, struct ArrowArrayStream *out,
                   struct qt_error *);
/* The problems found since the last call (the first 100,000 of a capture; the rest are only counted). */
int qt_reader_problems(struct qt_reader *, struct ArrowArrayStream *out, struct qt_error *);
/* Facts of sessions since the last call (sources/session_facts.h has the columns). */
int qt_reader_sessions(struct qt_reader *, struct ArrowArrayStream *out, struct qt_error *);
void qt_reader_stats(struct qt_reader *, struct qt_reader_stats *out);
/* A JSON object of what only this source knows, NUL-terminated, cut to what fits in `room` (at least 3). */
void qt_reader_describe(struct qt_reader *, char *out, size_t room);
/* End the part being parsed at the next event; no later one comes. From any thread. */
void qt_reader_stop(struct qt_reader *);
void qt_reader_close(struct qt_reader *);

/* The first bytes of a file, uncompressed: *got of them, fewer than `room` only where it ends (or is damaged). */
int qt_input_head(const char *path, char *out, size_t room, size_t *got, struct qt_error *);

/* How text logs are read. */
struct qt_log_options {
    int64_t timezone_ns;     /* offset of the log's local times from UTC; used where has_timezone is not 0 */
    int32_t has_timezone;
    int32_t reserved;
};

/* ---- slow logs (slowlog/slowlog.c) -------------------------------------------------------------------------- */

/* Opens logs that form one tape, in the order given; a path "-" is stdin. Nothing is read yet but the first bytes:
 * .gz and .zst are known by their magic. QT_EIO names the file that can't be opened. Describes itself with
 * server_version, timezone_ns, restarts, rate_limit, rate_by_query, has_extra. */
struct qt_reader *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                  struct qt_error *);
/* Reads just far enough into one file to know when its first event ended; QT_EFORMAT where it has none. */
int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *);

/* ---- other text logs (logs/) --------------------------------------------------------------------------------- */

/* General query logs of MySQL 5.x to 9.x and MariaDB, as qt_slowlog_open opens slow logs. */
struct qt_reader *qt_general_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                  struct qt_error *);

/* Logs of MariaDB's server_audit plugin (RDS and Aurora, too). `limit`: server_audit_query_log_limit; a statement of just
 * so many bytes is taken as cut. */
struct qt_reader *qt_server_audit_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *,
                                       int64_t limit, struct qt_error *);

/* What mysqlbinlog prints. Describes itself with row_events and row_events_without_statement. */
struct qt_reader *qt_binlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *, struct qt_error *);

/* ProxySQL's events log in its binary format. */
struct qt_reader *qt_proxysql_open(const char *const *paths, int32_t n_paths, struct qt_error *);

/* Events from rows that were read elsewhere, in the order of their times; takes the stream over. Columns, 64-bit offsets:
 * when BIGINT (ns; NULL = not understood, the text in `statement` is shown), stamp BIGINT (0 the second of its end, 1 its end,
 * 2 its start), precision_ns, duration_ns, thread_id BIGINT, command, user, host, db VARCHAR, statement BLOB, stmt, errno,
 * rows_sent, rows_examined, rows_affected, bytes_sent, lock_ns, flags, place BIGINT (line), error VARCHAR. */
struct qt_reader *qt_rows_source_open(struct ArrowArrayStream *in, struct qt_error *);

/* ---- packets (packets/packets.c) ---------------------------------------------------------------------------- */

struct qt_packets_options {
    const int32_t *ports;     /* of MySQL servers */
    int32_t n_ports;
    int32_t reserved;
    const char *interface;    /* NULL = files; else live, also "any" */
    const char *user;         /* whom root becomes when the interface is open; NULL: see packets/privileges.h */
    int64_t ring_bytes;       /* live: packets that wait for the parser, at most */
    int64_t part_ns;          /* live: a part is ended after this long */
};

/* Capture files that form one tape, in the order given ("-" is stdin), or an interface. Describes itself with
 * server_version, connections, encrypted, joined_midway, gaps, lost_bytes, ... and counts of what was no TCP. */
struct qt_reader *qt_packets_open(const char *const *paths, int32_t n_paths, const struct qt_packets_options *,
                                  struct qt_error *);

/* ---- the replay engine (engine.c) -------------------------------------------------------------------------- */

struct qt_engine;

enum qt_pace {
    QT_PACE_SCHEDULE = 0,       /* each event at its due time, whatever the answers before took (open loop) */
    QT_PACE_THINK = 1,          /* a session's first event at its due time, the others as long after the answer as on the tape */
    QT_PACE_NONE = 2            /* as fast as each session allows */
};

enum qt_on_lost { QT_LOST_END = 0, QT_LOST_REOPEN = 1, QT_LOST_STOP = 2 }; /* reopen: at the next transaction */
enum qt_overload { QT_OVERLOAD_WAIT = 0, QT_OVERLOAD_DROP = 1, QT_OVERLOAD_STOP = 2 };
enum qt_tls { QT_TLS_OFF = 0, QT_TLS_ON = 1, QT_TLS_VERIFY_CA = 2, QT_TLS_VERIFY_IDENTITY = 3 };

/* Why the engine stopped by itself. */
enum qt_ended_by { QT_BY_NOTHING = 0, QT_BY_ERRORS = 1, QT_BY_LOSS = 2, QT_BY_OVERLOAD = 3 };

struct qt_account {
    const char *user;
    const char *password;       /* may be NULL */
};

/* A second target; the rest is as in struct qt_engine_options. */
struct qt_address {
    const char *host;
    const char *socket;
    const char *user;
    const char *password;
    int32_t port;
};

struct qt_engine_options {
    /* The target. Exactly one of host and socket; host is best an address (resolved once by the caller). */
    const char *host;
    const char *socket;
    const char *user;
    const char *password;       /* may be NULL */
    const char *db;             /* schema of sessions whose tape does not tell; may be NULL */
    const char *charset;        /* SET NAMES of every connection; "utf8mb4" */
    const char *init;           /* NULL, or statements, one a line, sent first on every connection (read-only sessions, ...) */
    int32_t port;
    int32_t connect_timeout_s;
    int32_t pace;               /* enum qt_pace */
    int32_t canaries;           /* threads that only sleep to absolute times and note how late they wake; 0 = none */
    int64_t connect_rate;       /* connects per second ahead of time, at most */
    int64_t lead_ns;            /* a session is connected this long before its first event is due */
    int64_t queue_bytes;        /* memory budget of waiting events */
    int64_t drain_ns;           /* after the last due time: wait this long for answers, then cut and count */
    int64_t stack_bytes;        /* of a session's thread */
    const struct qt_account *accounts; /* whom sessions may log in as, by number; NULL = all as `user` */
    int32_t n_accounts;
    int32_t compress;           /* 1 = the compressed protocol */
    int32_t tls;                /* enum qt_tls */
    int32_t verify;             /* 1 = checksums of result rows (base/checksum.h) */
    const char *tls_ca;         /* files; each may be NULL */
    const char *tls_cert;
    const char *tls_key;
    int64_t zero_at_ns;         /* CLOCK_MONOTONIC: the run's zero, not before; 0 = as soon as all is ready */
    int64_t statement_timeout_ns; /* then the statement is killed on the target; 0 = never */
    int64_t max_errors;         /* stop at more failed statements than these; negative = never */
    int32_t on_lost;            /* enum qt_on_lost */
    int32_t overload;           /* enum qt_overload: when the queue is full and events are overdue */
    int32_t order_tables;       /* how many tables the column `waits` numbers; 0 = sessions are not ordered */
    int32_t max_open;           /* QT_PACE_NONE: so many sessions at once; 0 = as many as on the tape */
    int64_t order_bound_ns;     /* an ordered wait that nothing has moved for this long is broken */
    const struct qt_address *reader; /* NULL, or a second target, of the same data, that answers reads outside transactions */
};

/* Counters since the start, unless said otherwise. Read from any thread. */
struct qt_engine_stats {
    uint64_t fed;               /* events taken from the plan */
    uint64_t executed, not_sent;
    uint64_t reads, writes, others, errors; /* executed ones by class; errors are executed ones with errno */
    uint64_t injected;
    uint64_t attributes_dropped; /* query attributes of ended sessions, which are not sent */
    uint64_t bulk_expanded;     /* executions sent in place of bulk ones, of ended sessions */
    uint64_t sessions_open, sessions_opened, sessions_failed, sessions_lost, sessions_reopened;
    uint64_t timeouts;          /* statements killed after statement_timeout_ns */
    uint64_t overload_waits;    /* how often the feeder waited for room while events were overdue */
    uint64_t overload_drops;    /* events dropped for it */
    uint64_t order_waits, order_broken; /* events that waited for other sessions' commits; waits that were broken */
    int64_t order_wait_ns;      /* all such waits together */
    uint64_t mirror_failed;     /* commands that change a session and failed on the reader alone */
    uint64_t unforced;          /* statements whose clock or insert id the target did not let be set */
    uint64_t queued_bytes;
    int64_t now_ns;             /* since the run's zero; negative before it */
    int64_t engine_cpu_ns;      /* CPU time of the engine's own threads, ended ones included */
    /* Quantiles of what happened since the previous call of qt_engine_stats; -1 where nothing did. */
    int64_t p95_ns;             /* service time */
    int64_t late_p99_ns;        /* sent less due */
    /* Whole run, from histograms with buckets of at most 2 %. */
    int64_t tool_p50_ns, tool_p99_ns;       /* sent less the latest of due, fed, free */
    int64_t canary_p50_ns, canary_p99_ns;   /* -1 without canaries */
    uint64_t drain_cut;         /* events cut off by the end of drain_ns */
    int64_t zero_real_ns;       /* wall clock at the run's zero; 0 before it */
    int32_t state;              /* enum qt_engine_state */
    int32_t ended_by;           /* enum qt_ended_by */
};

enum qt_engine_state {
    QT_ENGINE_NEW = 0,
    QT_ENGINE_OPENING = 1,      /* connecting the sessions that are due at the start */
    QT_ENGINE_RUNNING = 2,
    QT_ENGINE_DRAINING = 3,
    QT_ENGINE_DONE = 4          /* every outcome is in the outcome stream or was pulled */
};

/* Copies the options (texts too). */
struct qt_engine *qt_engine_new(const struct qt_engine_options *, struct qt_error *);
/* Takes all sessions from a stream, sorted by open_due_ns, before qt_engine_start. Columns, in this order:
 *   session BIGINT (its clone's number times 2^40 added), open_due_ns BIGINT (when to connect, from the run's zero; negative or
 *   0 = before the start), events BIGINT (planned for it: it is closed after the last), db VARCHAR (schema to connect with; NULL
 *   = options.db), opened_ahead BOOLEAN, account INTEGER (among options.accounts; NULL = options.user), client_flags BIGINT
 *   (capabilities of the original client; NULL = unknown), charset VARCHAR (SET NAMES; NULL = options.charset) */
int qt_engine_sessions(struct qt_engine *, struct ArrowArrayStream *in, struct qt_error *);
/* Starts the engine's threads; returns at once. The run's zero comes when the sessions due at the start are connected
 * and the first events are fed (or the plan has ended). */
int qt_engine_start(struct qt_engine *, struct qt_error *);
/* Takes planned events, sorted by due_ns, then session, seq; blocks while the budget is full; may be called again with the
 * next stream. Returns early, with QT_OK, after qt_engine_stop. Columns, in this order:
 *   session BIGINT, seq BIGINT, due_ns BIGINT (from the run's zero), span_ns BIGINT (how long it took on the tape, at this
 *   speed), command INTEGER (COMMANDS in schemas/codes.py; those the engine does not send are not_sent 'unsupported'), class
 *   INTEGER (CLASSES, or -1), flags BIGINT, account INTEGER (change_user: whom; NULL = options.user), db VARCHAR (NULL =
 *   unknown), stmt BIGINT (the prepared statement's number in its session, or NULL; process_kill: the session that is meant),
 *   statement BLOB (NULL where the command has none), params BLOB (schemas/params.md; an execute without is sent as text),
 *   clock_us BIGINT (SET timestamp before it; NULL = not), insert_id BIGINT (SET insert_id before it; NULL = not), waits VARCHAR
 *   (NULL, or "3:17 5:2;3:18": not before the first 17 commits on table 3 and 2 on table 5; itself commit 18 on table 3)
 * DuckDB gives them so with arrow_large_buffer_size=true: formats l l l l i i l i U l Z Z l l U. */
int qt_engine_feed(struct qt_engine *, struct ArrowArrayStream *in, struct qt_error *);
int qt_engine_feed_end(struct qt_engine *, struct qt_error *);
/* From now on due times come `factor` times as fast as the plan has them (1 = as planned). Any thread. */
int qt_engine_tempo(struct qt_engine *, double factor, struct qt_error *);
/* A stream of outcomes that ends after slice_ns (or at the end of the run). Columns: outcomes of schemas/run.sql. */
int qt_engine_outcomes(struct qt_engine *, int64_t slice_ns, struct ArrowArrayStream *out, struct qt_error *);
/* After QT_ENGINE_DONE: one row a session. Columns: sessions of schemas/run.sql. */
int qt_engine_session_results(struct qt_engine *, struct ArrowArrayStream *out, struct qt_error *);
void qt_engine_stats(struct qt_engine *, struct qt_engine_stats *out);
/* how = 1: send nothing more, let answers come for drain_ns, close; 2: shut the sockets now. Signal-safe; any thread. */
void qt_engine_stop(struct qt_engine *, int32_t how);
void qt_engine_free(struct qt_engine *); /* stops with 2 where it still runs, joins every thread */

/* ---- the null server (nullserver/) --------------------------------------------------------------------------- */

struct qt_null_server;
/* Listens on a free port of the loopback, or on a unix socket, and answers anything at once or after delay_ns. */
struct qt_null_server *qt_null_start(const char *socket_path, int32_t threads, int64_t delay_ns, struct qt_error *);
int32_t qt_null_port(const struct qt_null_server *); /* 0 on a unix socket */
uint64_t qt_null_answers(struct qt_null_server *);   /* so far; any thread */
void qt_null_stop(struct qt_null_server *);          /* ends connections as well, and frees; NULL is fine */

/* ---- streams ---------------------------------------------------------------------------------------------- */

/* Pulls a stream to its end and throws the rows away: for measuring a parser alone. */
int qt_drain(struct ArrowArrayStream *, uint64_t *rows, struct qt_error *);
/* Releases what a stream holds where nobody did. */
void qt_stream_release(struct ArrowArrayStream *);
size_t qt_stream_size(void); /* sizeof(struct ArrowArrayStream) */

/* cffi: end */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Made by `make names` from schemas/names.toml, which says what each means. Do not edit. */
/* clang-format off */
#ifndef QUERYTAPE_NAMES_H
#define QUERYTAPE_NAMES_H

/* cffi: begin */

enum qt_class {
    QT_CLASS_READ = 0,
    QT_CLASS_WRITE = 1,
    QT_CLASS_TRANSACTION = 2,
    QT_CLASS_SESSION = 3,
    QT_CLASS_DDL = 4,
    QT_CLASS_ADMIN = 5
};

enum qt_flag {
    QT_F_TIME_INFERRED = 1,
    QT_F_DURATION_CUT = 2,
    QT_F_REDACTED = 4,
    QT_F_TRUNCATED = 8,
    QT_F_ROUTINE = 16,
    QT_F_USE = 32,
    QT_F_TIMESTAMP = 64,
    QT_F_PLACEHOLDER = 128,
    QT_F_SYSTEM = 256,
    QT_F_SQL_PREPARE = 512,
    QT_F_CLOCK_GUESSED = 1024,
    QT_F_KILLED = 2048,
    QT_F_UNBOUND = 4096,
    QT_F_CARRIED = 8192
};

#define QT_PLAN_FOR_READ_TARGET 1099511627776
#define QT_PLAN_FOR_BOTH 2199023255552
#define QT_PLAN_FAILED 4398046511104

#define QT_SHIFT_DANGER 16
#define QT_SHIFT_CLONE 40

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

enum qt_action {
    QT_ACTION_BEGIN = 1,
    QT_ACTION_COMMIT = 2,
    QT_ACTION_ROLLBACK = 4,
    QT_ACTION_ROLLBACK_TO = 8,
    QT_ACTION_SAVEPOINT = 16,
    QT_ACTION_RELEASE_SAVEPOINT = 32,
    QT_ACTION_IMPLICIT_COMMIT = 64,
    QT_ACTION_AUTOCOMMIT_OFF = 128,
    QT_ACTION_AUTOCOMMIT_ON = 256,
    QT_ACTION_XA = 512,
    QT_ACTION_SNAPSHOT = 1024,
    QT_ACTION_TEMPORARY_TABLE = 2048,
    QT_ACTION_LOCK_TABLES = 4096,
    QT_ACTION_UNLOCK_TABLES = 8192,
    QT_ACTION_LOCKING_READ = 16384,
    QT_ACTION_ASKS_TIME = 32768,
    QT_ACTION_RANDOM = 65536,
    QT_ACTION_SESSION_DEPENDENT = 131072,
    QT_ACTION_ASKS_SERVER = 262144,
    QT_ACTION_ASKS_DIAGNOSTICS = 524288,
    QT_ACTION_MANY_ROWS = 1048576
};

enum qt_property {
    QT_PROPERTY_ADDS_ROWS = 1,
    QT_PROPERTY_ASKS_ROWS = 2,
    QT_PROPERTY_COPIES_ROWS = 4,
    QT_PROPERTY_HIDES_IDS = 8,
    QT_PROPERTY_CALLS_PROCEDURE = 16,
    QT_PROPERTY_SHOWS = 32,
    QT_PROPERTY_EXPLAINS_WRITE = 64,
    QT_PROPERTY_EXPLAINABLE = 128,
    QT_PROPERTY_PREPARES_TEXT = 256,
    QT_PROPERTY_PREPARES_XA = 512,
    QT_PROPERTY_ENDS_XA = 1024,
    QT_PROPERTY_TAKES_USER_LOCK = 2048,
    QT_PROPERTY_FREES_USER_LOCK = 4096,
    QT_PROPERTY_LOOKS_AT_USER_LOCK = 8192,
    QT_PROPERTY_SETS_ID_STEPS_GLOBAL = 16384,
    QT_PROPERTY_SETS_ID_STEPS_BACK = 32768,
    QT_PROPERTY_ORDER_BY = 65536,
    QT_PROPERTY_ORDER_BY_RANDOM = 131072,
    QT_PROPERTY_GROUP_BY = 262144,
    QT_PROPERTY_LIMIT = 524288,
    QT_PROPERTY_LIMIT_INSIDE = 1048576,
    QT_PROPERTY_CONCAT_UNSORTED = 2097152,
    QT_PROPERTY_CHANCE = 4194304,
    QT_PROPERTY_SYSDATE = 8388608,
    QT_PROPERTY_TIME_IN_CONDITION = 16777216,
    QT_PROPERTY_CHANCE_IN_CONDITION = 33554432,
    QT_PROPERTY_SESSION_IN_CONDITION = 67108864,
    QT_PROPERTY_SORTS = 134217728,
    QT_PROPERTY_JOINS = 268435456,
    QT_PROPERTY_SELECTS_ALL = 536870912,
    QT_PROPERTY_CHANGES_SCHEMA = 1073741824
};

enum qt_command {
    QT_COMMAND_QUERY = 1,
    QT_COMMAND_PREPARE = 2,
    QT_COMMAND_EXECUTE = 3,
    QT_COMMAND_CLOSE_STMT = 4,
    QT_COMMAND_RESET_STMT = 5,
    QT_COMMAND_LONG_DATA = 6,
    QT_COMMAND_FETCH = 7,
    QT_COMMAND_INIT_DB = 8,
    QT_COMMAND_PING = 9,
    QT_COMMAND_RESET_CONNECTION = 10,
    QT_COMMAND_CHANGE_USER = 11,
    QT_COMMAND_QUIT = 12,
    QT_COMMAND_CONNECT = 13,
    QT_COMMAND_STATISTICS = 14,
    QT_COMMAND_FIELD_LIST = 15,
    QT_COMMAND_REFRESH = 16,
    QT_COMMAND_PROCESS_INFO = 17,
    QT_COMMAND_PROCESS_KILL = 18,
    QT_COMMAND_SET_OPTION = 19,
    QT_COMMAND_DEBUG = 20,
    QT_COMMAND_SHUTDOWN = 21,
    QT_COMMAND_BINLOG_DUMP = 22,
    QT_COMMAND_REGISTER_SLAVE = 23,
    QT_COMMAND_BULK_EXECUTE = 24,
    QT_COMMAND_OTHER = 25
};

enum qt_lateness {
    QT_LATE_SESSION = 0,
    QT_LATE_ORDER = 1,
    QT_LATE_CONNECT = 2,
    QT_LATE_FEEDER = 3,
    QT_LATE_TOOL = 4
};

enum qt_pace {
    QT_PACE_SCHEDULE = 0,
    QT_PACE_THINK = 1,
    QT_PACE_NONE = 2
};

enum qt_on_lost {
    QT_LOST_END = 0,
    QT_LOST_REOPEN = 1,
    QT_LOST_STOP = 2
};

enum qt_overload {
    QT_OVERLOAD_WAIT = 0,
    QT_OVERLOAD_DROP = 1,
    QT_OVERLOAD_STOP = 2
};

enum qt_tls_mode {
    QT_TLS_DISABLED = 0,
    QT_TLS_REQUIRED = 1,
    QT_TLS_VERIFY_CA = 2,
    QT_TLS_VERIFY_IDENTITY = 3
};

enum qt_order_use {
    QT_USE_ASKS = 1,
    QT_USE_ADDS_ROWS = 2,
    QT_USE_TAKES_LOCK = 4,
    QT_USE_FREES_LOCK = 8,
    QT_USE_LOOKS_AT_LOCK = 16,
    QT_USE_LATER = 32
};

enum qt_order_fact {
    QT_FACT_LONG = 1,
    QT_FACT_LOCKS = 2,
    QT_FACT_OWN = 4,
    QT_FACT_READS = 8,
    QT_FACT_STATEMENT = 16,
    QT_FACT_EXCLUSIVE = 32,
    QT_FACT_LAST = 64,
    QT_FACT_WAITS = 128
};

enum qt_order_table {
    QT_TABLE_ALL = 0,
    QT_TABLE_UNKNOWN = 1,
    QT_TABLE_USER_LOCKS = 2,
    QT_TABLE_FIRST = 3
};

/* What the engine counts, and all of it together. */
enum qt_counter {
    QT_COUNT_FED = 0,
    QT_COUNT_EXECUTED = 1,
    QT_COUNT_NOT_SENT = 2,
    QT_COUNT_READS = 3,
    QT_COUNT_WRITES = 4,
    QT_COUNT_OTHERS = 5,
    QT_COUNT_ERRORS = 6,
    QT_COUNT_INJECTED = 7,
    QT_COUNT_QUERY_ATTRIBUTES_DROPPED = 8,
    QT_COUNT_BULK_ROWS_EXPANDED = 9,
    QT_COUNT_EXECUTED_AS_QUERY = 10,
    QT_COUNT_ROWS_TOO_LARGE = 11,
    QT_COUNT_CALLED_WITH_VARIABLES = 12,
    QT_COUNT_SEVERAL_STATEMENTS = 13,
    QT_COUNT_SESSIONS_OPENED = 14,
    QT_COUNT_SESSIONS_FAILED = 15,
    QT_COUNT_SESSIONS_LOST = 16,
    QT_COUNT_SESSIONS_REOPENED = 17,
    QT_COUNT_SESSIONS_RESTED = 18,
    QT_COUNT_TIMEOUTS = 19,
    QT_COUNT_OVERLOAD_WAITS = 20,
    QT_COUNT_OVERLOAD_DROPS = 21,
    QT_COUNT_NOT_PERMITTED = 22,
    QT_COUNT_ORDER_WAITS = 23,
    QT_COUNT_ORDER_BROKEN = 24,
    QT_COUNT_ORDER_WAIT_NS = 25,
    QT_COUNT_ORDER_STALLS = 26,
    QT_COUNT_OVERRIDES_FAILED = 27,
    QT_COUNT_READ_TARGET_ERRORS = 28,
    QT_COUNT_DRAIN_TIMEOUT = 29,
    QT_COUNTERS = 30
};
struct qt_engine_counts {
    uint64_t fed;
    uint64_t executed;
    uint64_t not_sent;
    uint64_t reads;
    uint64_t writes;
    uint64_t others;
    uint64_t errors;
    uint64_t injected;
    uint64_t query_attributes_dropped;
    uint64_t bulk_rows_expanded;
    uint64_t executed_as_query;
    uint64_t rows_too_large;
    uint64_t called_with_variables;
    uint64_t several_statements;
    uint64_t sessions_opened;
    uint64_t sessions_failed;
    uint64_t sessions_lost;
    uint64_t sessions_reopened;
    uint64_t sessions_rested;
    uint64_t timeouts;
    uint64_t overload_waits;
    uint64_t overload_drops;
    uint64_t not_permitted;
    uint64_t order_waits;
    uint64_t order_broken;
    uint64_t order_wait_ns;
    uint64_t order_stalls;
    uint64_t overrides_failed;
    uint64_t read_target_errors;
    uint64_t drain_timeout;
};

/* How an event ended: executed, or why the engine did not send it. */
enum qt_reason {
    QT_EXECUTED = 0,
    QT_NOT_PREPARED = 1,
    QT_NOTHING_TO_CLOSE = 2,
    QT_CONNECT_FAILED = 3,
    QT_CONNECTION_LOST = 4,
    QT_SCHEMA_FAILED = 5,
    QT_AFTER_QUIT = 6,
    QT_NO_CURSOR = 7,
    QT_PARAMS_MISMATCH = 8,
    QT_UNSUPPORTED = 9,
    QT_TRANSACTION_LOST = 10,
    QT_OVERLOAD = 11,
    QT_NOT_PERMITTED = 12,
    QT_KILL_TARGET_UNKNOWN = 13,
    QT_STOPPED = 14,
    QT_DRAIN_TIMEOUT = 15
};

/* A second target; the rest is as in struct qt_engine_options. */
struct qt_address {
    const char *host;
    const char *socket;
    int32_t port;
    const char *user;
    const char *password;
    int32_t asks_for_key;
};

struct qt_account {
    const char *user;
    const char *password; /* NULL = none */
};

struct qt_engine_options {
    const char *host; /* host name, or preferably the IP address that the caller resolved; NULL if socket is set */
    const char *socket; /* path of the Unix socket of the server; NULL if host is set */
    int32_t port; /* TCP port of the host */
    const char *user; /* user name for sessions without an account on the tape */
    const char *password; /* password of user; NULL = none */
    int32_t asks_for_key; /* whether the server may send its RSA key if public_key is NULL */
    const char *db; /* schema of sessions without a schema on the tape; NULL = none */
    const char *charset; /* Character set of sessions whose character set is not on the tape. */
    const char *init; /* statements to run first on every connection, one per line (READ ONLY, ...); NULL = none */
    int32_t pace; /* rule for the send times of events */
    int32_t connect_timeout_s; /* Maximum duration of a login, in seconds. */
    int64_t connect_rate; /* Maximum number of connections opened per second before the first event. */
    /* Time between the login and the first event of a session, if the tape does not contain the login time. */
    int64_t lead_ns;
    int64_t queue_bytes; /* Memory limit for events that wait for their due time. */
    int64_t drain_ns; /* Maximum time to wait for the last answers after the last event was sent. */
    int64_t stack_bytes; /* stack size of a session thread, in bytes */
    /* Number of threads (at most 64) that measure how late this machine wakes sleeping threads. */
    int32_t timer_probes;
    int32_t compress; /* whether to use the compressed protocol */
    int32_t tls; /* whether connections are encrypted */
    const char *tls_ca; /* path of the certificate authority; NULL = none */
    const char *tls_cert; /* path of the client certificate; NULL = none */
    const char *tls_key; /* path of the client key; NULL = none */
    int32_t cleartext; /* whether a password may be sent as clear text over TLS */
    const char *public_key; /* path of the RSA key that encrypts passwords without TLS; NULL = none */
    const char *plugins; /* folder of the login plugins; NULL = default folder of Connector/C */
    int32_t verify; /* Record a checksum of the rows of each result, so that reports can compare results. */
    int64_t max_row_bytes; /* largest row of a result in bytes. A larger row ends the connection. 0 = 1 GiB */
    int64_t zero_at_ns; /* earliest start of the run on CLOCK_MONOTONIC; 0 = as soon as the sessions are ready */
    int32_t holds; /* whether the engine waits for qt_engine_go, which sets the start time */
    /* Maximum duration of a statement on the target. Longer statements are killed. Default: no limit. */
    int64_t statement_timeout_ns;
    int64_t max_errors; /* Stop the run when more than this number of statements fail. */
    /* Reaction to a lost connection: end its session, reopen the connection at the session's next transaction (one
     * attempt per second), or stop the run. */
    int32_t on_lost;
    int32_t overload; /* Reaction to a full queue while events are late: wait, drop late events, or stop the run. */
    /* Time without progress of the awaited session after which a wait of --order commit ends. */
    int64_t order_bound_ns;
    int32_t order_tables; /* number of tables that the column `waits` describes; 0 without --order commit */
    /* Maximum number of concurrent sessions with pace none. 0 = as many as on the tape. */
    int32_t max_concurrent_sessions;
    /* whether each statement is checked with reads_only, allowed_dangers, allowed_classes and refused_calls */
    int32_t check_statements;
    int32_t reads_only; /* whether to refuse statements that could end read-only mode */
    int64_t allowed_dangers; /* allowed dangers: bits 1 << enum qt_danger */
    int64_t allowed_classes; /* allowed classes: bits 1 << enum qt_class */
    /* functions that statements may not call, one per line. A line that begins with a blank is a name that
     * statements may not contain. NULL = none */
    const char *refused_calls;
    /* whether sessions and events may arrive during the run. Each session then ends with a COM_QUIT event */
    int32_t follows;
    /* number of connections that the target can accept; 0 = no limit. If `follows` is set, idle connections close
     * sooner when more than half of this number are open */
    int32_t rest_open;
    int64_t rest_ns; /* idle time after which a connection closes if `follows` is set; 0 = never */
    const struct qt_account *accounts; /* sessions log in as these, by number; NULL = all as user */
    int32_t n_accounts;
    const struct qt_address *read_target; /* NULL, or it answers reads outside transactions: the same data */
};
/* cffi: end */

#define QT_EACH_OPTION_TEXT(X) \
    X(host) \
    X(socket) \
    X(user) \
    X(password) \
    X(db) \
    X(charset) \
    X(init) \
    X(tls_ca) \
    X(tls_cert) \
    X(tls_key) \
    X(public_key) \
    X(plugins) \
    X(refused_calls)
#define QT_EACH_ADDRESS_TEXT(X) \
    X(host) \
    X(socket) \
    X(user) \
    X(password)
#define QT_EACH_ADDRESS_FIELD(X) \
    X(host) \
    X(socket) \
    X(port) \
    X(user) \
    X(password) \
    X(asks_for_key)
#define QT_EACH_OPTION_LEAST(X) \
    X(pace, 0) \
    X(connect_timeout_s, 1) \
    X(connect_rate, 1) \
    X(queue_bytes, 1) \
    X(drain_ns, 0) \
    X(timer_probes, 0) \
    X(tls, 0) \
    X(max_errors, -1) \
    X(on_lost, 0) \
    X(overload, 0) \
    X(order_tables, 0)
#define QT_EACH_OPTION_MOST(X) \
    X(pace, 2) \
    X(timer_probes, 64) \
    X(tls, 3) \
    X(on_lost, 2) \
    X(overload, 2)

#define QT_TEXTS_OF_REASONS { \
    [QT_NOT_PREPARED] = "not_prepared", \
    [QT_NOTHING_TO_CLOSE] = "nothing_to_close", \
    [QT_CONNECT_FAILED] = "connect_failed", \
    [QT_CONNECTION_LOST] = "connection_lost", \
    [QT_SCHEMA_FAILED] = "schema_failed", \
    [QT_AFTER_QUIT] = "after_quit", \
    [QT_NO_CURSOR] = "no_cursor", \
    [QT_PARAMS_MISMATCH] = "params_mismatch", \
    [QT_UNSUPPORTED] = "unsupported", \
    [QT_TRANSACTION_LOST] = "transaction_lost", \
    [QT_OVERLOAD] = "overload", \
    [QT_NOT_PERMITTED] = "not_permitted", \
    [QT_KILL_TARGET_UNKNOWN] = "kill_target_unknown", \
    [QT_STOPPED] = "stopped", \
    [QT_DRAIN_TIMEOUT] = "drain_timeout" }
#define QT_TEXTS_OF_CLASSES { \
    [QT_CLASS_READ] = "read", \
    [QT_CLASS_WRITE] = "write", \
    [QT_CLASS_TRANSACTION] = "transaction", \
    [QT_CLASS_SESSION] = "session", \
    [QT_CLASS_DDL] = "ddl", \
    [QT_CLASS_ADMIN] = "admin" }

#endif

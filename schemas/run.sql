-- SPDX-License-Identifier: Apache-2.0
-- A run, format version 1: one replay of a tape against a target. Times are integer nanoseconds from the start of the
-- run. The run starts when the first planned event of the tape is due.

CREATE TABLE outcomes (           -- outcomes/part-*.parquet: one row for each event of the tape
    session BIGINT NOT NULL,      -- session number on the tape
    seq BIGINT NOT NULL,          -- sequence number on the tape
    clone INTEGER NOT NULL,       -- 0 = the original, otherwise the number of the copy (--amplify)
    due_ns BIGINT,                -- due time of the event; NULL with --pace none, and for filtered or skipped events
    queued_ns BIGINT,             -- when the event entered the queue of its session
    free_ns BIGINT,               -- when the session could send: connected, previous answer read, order satisfied
    sent_ns BIGINT,               -- when the engine passed the event to the connection
    first_ns BIGINT,              -- first byte of the answer
    done_ns BIGINT,               -- last byte of the answer; NULL = sent, but the answer is incomplete
    status VARCHAR NOT NULL,      -- executed, filtered, skipped, not_sent
    reason VARCHAR,               -- why the event was filtered, skipped or not sent; NULL if executed
    rows_sent BIGINT,
    rows_affected BIGINT,
    bytes_received BIGINT,
    warnings BIGINT,
    errno INTEGER,                -- 0 = no error
    error VARCHAR,
    checksum VARCHAR,             -- checksum of the result rows (--verify), in the format of the tape
    order_ns BIGINT,              -- time spent waiting for commits of other sessions; NULL = no wait
    on_read_target BOOLEAN        -- whether the read target (--reads-to) answered the event; NULL if not sent
);

CREATE TABLE query_plans (        -- query_plans.parquet: EXPLAIN of samples of the most expensive digests, after the run
    digest VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,        -- json, tree (EXPLAIN FORMAT=...), server_digest (STATEMENT_DIGEST of MySQL 8)
    text VARCHAR,                 -- as the server returned it, with the literals of the sample
    error VARCHAR                 -- the reason why there is no plan
);

CREATE TABLE schema_facts (       -- schema_facts.parquet: the tape's schemas on the target before the replay, by object
    kind VARCHAR NOT NULL,        -- schema, table, column, index, foreign_key, foreign_key_rule, check, partition, histogram, statistics, trigger, view, routine, parameters, event, charset, problem
    db VARCHAR NOT NULL,          -- name on the tape; '' for the server itself, and for a problem with all schemas
    tbl VARCHAR NOT NULL,         -- table name; '' for a schema, routine or event
    name VARCHAR NOT NULL,        -- name of the column, index, key, ...; for a problem: the missing information
    facts VARCHAR NOT NULL        -- JSON, {property: text}
);

CREATE TABLE sessions (           -- sessions.parquet: one row for each session that the replay opened or tried to open
    session BIGINT NOT NULL,
    clone INTEGER NOT NULL,
    opened_ahead BOOLEAN NOT NULL,-- opened before its first event, because the tape does not show its connect
    connect_due_ns BIGINT,
    connect_ns BIGINT,            -- when connecting began
    connected_ns BIGINT,          -- when the session was ready; NULL = never
    closed_ns BIGINT,
    thread_id BIGINT,             -- connection id on the target
    executed BIGINT NOT NULL,
    injected BIGINT NOT NULL,     -- commands that the replayer added (schema changes, session settings, COMMIT before DDL)
    in_transaction BOOLEAN,       -- a transaction was open when the session was closed
    errno INTEGER,                -- error of the failed connect or of the lost connection; 0 = none
    error VARCHAR
);

CREATE TABLE ticks (              -- ticks.parquet: the values of the run's live progress line, one row per second
    at_ns BIGINT NOT NULL,
    real_ns BIGINT NOT NULL,      -- wall clock at at_ns: nanoseconds since the epoch
    sessions_open BIGINT NOT NULL,
    done BIGINT NOT NULL,         -- completed events since the previous tick; the later columns also count since then
    reads BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    others BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    p95_ns BIGINT,                -- p95 of the service time, from a histogram with buckets at most 2 % wide
    late_p99_ns BIGINT,           -- p99 of the lateness of the sent events, from all causes
    queued_bytes BIGINT NOT NULL, -- memory of the waiting events
    cpu_ns BIGINT NOT NULL,       -- CPU time of the whole process
    order_waits BIGINT,           -- events that waited for other sessions' commits
    order_broken BIGINT           -- events of order_waits that were sent before their turn
);

CREATE TABLE samples (            -- samples/part-*.parquet: changed counters of the target and of the replayer's machine
    real_ns BIGINT NOT NULL,      -- wall clock: nanoseconds since the epoch; ticks are whole seconds
    source VARCHAR NOT NULL,      -- status (SHOW GLOBAL STATUS), processlist, host (/proc of a local target), sampler
    name VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);

CREATE TABLE texts (              -- texts/part-*.parquet: status reports of the target in text form
    real_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL,        -- name of the report: innodb_status
    text VARCHAR NOT NULL
);

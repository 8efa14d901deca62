-- SPDX-License-Identifier: Apache-2.0
-- A run, format version 1: one replay of a tape against a target.
-- Times are integer nanoseconds from the run's start (the moment at which the tape's first planned event is due).

CREATE TABLE outcomes (           -- outcomes/part-*.parquet: one row for each event of the tape
    session BIGINT NOT NULL,      -- as on the tape
    seq BIGINT NOT NULL,          -- as on the tape
    clone INTEGER NOT NULL,       -- 0, or which copy when amplified
    due_ns BIGINT,                -- when it was to be sent; NULL for --pace none, and where status is filtered or skipped
    queued_ns BIGINT,             -- when the engine had it in its session's queue
    free_ns BIGINT,               -- when its session was able to send: connected, the previous answer read, order satisfied
    sent_ns BIGINT,               -- when it was given to the connection
    first_ns BIGINT,              -- first byte of the answer
    done_ns BIGINT,               -- last byte of the answer; NULL = sent without a complete answer
    status VARCHAR NOT NULL,      -- executed, filtered, skipped, not_sent
    reason VARCHAR,               -- why it was filtered, skipped or not sent; NULL when executed
    rows_sent BIGINT,
    rows_affected BIGINT,
    bytes_received BIGINT,
    warnings BIGINT,
    errno INTEGER,                -- 0 = no error
    error VARCHAR,
    checksum VARCHAR,             -- of the result rows, with --verify; as on the tape
    order_ns BIGINT,              -- how long it waited for other sessions' commits; NULL = it did not
    on_read_target BOOLEAN        -- the read target (--reads-to) answered it; NULL where nothing was sent
);

CREATE TABLE query_plans (        -- query_plans.parquet: EXPLAIN of a sample of each of the costliest digests, made after the run
    digest VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,        -- json, tree (EXPLAIN FORMAT=...), server_digest (STATEMENT_DIGEST of MySQL 8)
    text VARCHAR,                 -- as the server gave it, with literal values of the sample
    error VARCHAR                 -- why there is none
);

CREATE TABLE schema_facts (       -- schema_facts.parquet: the tape's schemas on the target, before anything was sent; one row an object
    kind VARCHAR NOT NULL,        -- schema, table, column, index, foreign_key, foreign_key_rule, check, partition, histogram, statistics, trigger, view, routine, parameters, event, charset, problem
    db VARCHAR NOT NULL,          -- as the tape calls it; '' for what belongs to the server, and for a problem with all schemas
    tbl VARCHAR NOT NULL,         -- '' for a schema, routine or event
    name VARCHAR NOT NULL,        -- of the column, index, key, ...; of a problem: what could not be learned
    facts VARCHAR NOT NULL        -- JSON, {fact: text}
);

CREATE TABLE sessions (           -- sessions.parquet: one row for each session that was opened, or should have been
    session BIGINT NOT NULL,
    clone INTEGER NOT NULL,
    opened_ahead BOOLEAN NOT NULL,-- the tape did not show its connect: opened ahead of its first event
    connect_due_ns BIGINT,
    connect_ns BIGINT,            -- when connecting began
    connected_ns BIGINT,          -- when the session was ready; NULL = it never was
    closed_ns BIGINT,
    thread_id BIGINT,             -- connection id on the target
    executed BIGINT NOT NULL,
    injected BIGINT NOT NULL,     -- commands that the replayer added (schema changes, session settings, COMMIT before DDL)
    in_transaction BOOLEAN,       -- a transaction was open when it was closed
    errno INTEGER,                -- of the failed connect or of the loss of the connection; 0 = none
    error VARCHAR
);

CREATE TABLE ticks (              -- ticks.parquet: the run as its live line saw it, one row a second
    at_ns BIGINT NOT NULL,
    real_ns BIGINT NOT NULL,      -- the wall clock at the same moment: nanoseconds since the epoch
    sessions_open BIGINT NOT NULL,
    done BIGINT NOT NULL,         -- since the previous tick, as all that follow
    reads BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    others BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    p95_ns BIGINT,                -- service time; from a histogram with buckets of at most 2 %
    late_p99_ns BIGINT,           -- sent later than due, all causes
    queued_bytes BIGINT NOT NULL, -- memory of waiting events
    cpu_ns BIGINT NOT NULL,       -- CPU time of the whole process
    order_waits BIGINT,           -- events that waited for other sessions' commits
    order_broken BIGINT           -- those of them that were sent before their turn
);

CREATE TABLE samples (            -- samples/part-*.parquet: the target's and this machine's counters; a value is kept when it changed
    real_ns BIGINT NOT NULL,      -- the wall clock: nanoseconds since the epoch; ticks are its whole seconds
    source VARCHAR NOT NULL,      -- status (SHOW GLOBAL STATUS), processlist, host (/proc, where the target is local), sampler
    name VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);

CREATE TABLE texts (              -- texts/part-*.parquet: what the target says in prose
    real_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL,        -- innodb_status
    text VARCHAR NOT NULL
);

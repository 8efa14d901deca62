-- SPDX-License-Identifier: Apache-2.0
-- A tape, format version 1. Each table describes the Parquet files of the same name, with the same columns in the same
-- order. Times are integer nanoseconds since the Unix epoch, UTC. Durations are integer nanoseconds. NULL means that
-- the source cannot provide the value. NULL never means zero.

CREATE TABLE events (             -- events/part-*.parquet: one row for each client command, sorted by start_ns inside a part
    session BIGINT NOT NULL,      -- original connection, from 1; unique even if the server reused a thread id
    seq BIGINT NOT NULL,          -- order in the session, from 1, without missing numbers
    thread_id BIGINT,             -- connection id on the server, to find an event in the server's logs
    command VARCHAR NOT NULL,     -- query, prepare, execute, init_db, ping, reset_connection, change_user, quit, ... (names.toml)
    start_ns BIGINT NOT NULL,     -- when the server began to execute the command; inferred if the flag time_inferred is set
    duration_ns BIGINT,           -- measured by the source (measuring point: tape.json); cut if the flag duration_cut is set
    precision_ns BIGINT NOT NULL, -- precision of start_ns: 1000 for microseconds, 1000000000 for logs of whole seconds
    request_ns BIGINT,            -- from the first to the last byte of the command on the wire; start_ns is the last byte
    first_byte_ns BIGINT,         -- time from start_ns to the first byte of the answer on the wire
    "user" VARCHAR,               -- account name, without host
    host VARCHAR,                 -- client's host name, or its address if the source has no name
    db VARCHAR,                   -- default schema of the command; '' = known to be none
    statement BLOB,               -- exact bytes from the client; NULL if the command or the source has none
    stmt BIGINT,                  -- number of the prepared statement in its session
    params BLOB,                  -- data besides the text: bound values, long data, a file, ... (params.md)
    insert_id BIGINT,             -- first id of an INSERT or REPLACE (SET insert_id or the answer); NULL for several statements
    insert_ids VARCHAR,           -- for several statements in one text: "offset:id,..." for each INSERT or REPLACE that generated ids, offset in bytes; '' = ids of unknown statements
    last_insert_id BIGINT,        -- value of SET last_insert_id, if the source contains it
    file INTEGER NOT NULL,        -- number of the source file (tape.json: files), from 0
    "offset" BIGINT NOT NULL,     -- byte offset of the event in the uncompressed file
    digest VARCHAR,               -- digest of the normalised statement, 16 hex digits; NULL without a statement
    class VARCHAR,                -- read, write, transaction, session, ddl, admin (names.toml); NULL without a statement
    actions BIGINT,               -- bits of names.toml: effects, and dependencies of the answer; NULL without a statement
    rows_sent BIGINT,
    rows_examined BIGINT,
    rows_affected BIGINT,
    bytes_sent BIGINT,
    lock_ns BIGINT,               -- lock time from the server's log
    warnings BIGINT,
    errno INTEGER,                -- 0 = known to have succeeded; NULL = unknown
    error VARCHAR,                -- error message of the server
    checksum VARCHAR,             -- of the result rows: text:A:B or binary:A:B (16 hex digits each); A is ordered, B is not
    flags BIGINT NOT NULL         -- bits of names.toml; bits 16-23 contain the number of the danger
);

CREATE TABLE sessions (           -- sessions.parquet: one row for each original connection; derived from events
    session BIGINT NOT NULL,
    thread_id BIGINT,
    "user" VARCHAR,               -- user of the first event
    host VARCHAR,
    port INTEGER,                 -- client's TCP port
    db VARCHAR,                   -- schema of the first event; the session starts with this schema
    connect_ns BIGINT,            -- NULL if the connect was not captured
    connect_seen BOOLEAN NOT NULL,
    quit_seen BOOLEAN NOT NULL,
    open_at_start BOOLEAN,        -- whether the session was open before the tape begins; NULL = unknown
    open_at_end BOOLEAN,          -- whether the session was open after the tape ends; NULL = unknown
    first_ns BIGINT NOT NULL,     -- start of the first event
    last_ns BIGINT NOT NULL,      -- end of the last event
    events BIGINT NOT NULL,
    client_flags BIGINT,          -- capability flags that client and server agreed on
    charset VARCHAR,              -- id of the collation in the login, for example 255 = utf8mb4_0900_ai_ci
    attributes VARCHAR,           -- connection attributes as JSON
    encrypted BOOLEAN             -- whether the session used TLS and was captured with known keys; NULL = unknown
);

CREATE TABLE digests (            -- digests.parquet: one row for each digest; derived from events
    digest VARCHAR NOT NULL,
    class VARCHAR NOT NULL,
    actions BIGINT,               -- actions of the sample; SET autocommit = ? is one digest for both values
    properties BIGINT,            -- bits of names.toml: syntax of the sample
    tables VARCHAR[],             -- tables named in the sample, lower case, as written: orders, shop.orders; not those in views
    calls VARCHAR[],              -- functions and routines that the sample calls, in lower case, as written
    normalized VARCHAR NOT NULL,  -- normalised statement, without the literals of the sample
    sample BLOB,                  -- one statement of this digest, as captured; reports show it only on request
    sample_bytes BIGINT NOT NULL, -- length of the sample in bytes before it was cut for this table
    pt_id VARCHAR,                -- Percona Toolkit id of the sample (32 digits; older releases: last 16); NULL over 16 KiB
    events BIGINT NOT NULL,
    duration_ns BIGINT,           -- total duration of its events
    first_ns BIGINT NOT NULL,
    last_ns BIGINT NOT NULL
);

CREATE TABLE problems (           -- problems.parquet: input that could not be parsed, with its location
    file INTEGER NOT NULL,        -- number of the source file, from 0
    line BIGINT NOT NULL,         -- line number, from 1; 0 if the source has no lines
    "offset" BIGINT NOT NULL,     -- byte offset in the uncompressed file
    kind VARCHAR NOT NULL,        -- short stable name: truncated_statement, bad_time, ...
    detail VARCHAR NOT NULL       -- message: expected ..., found ...
);

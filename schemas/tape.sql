-- SPDX-License-Identifier: Apache-2.0
-- A tape, format version 1. Each table is what the Parquet files of that name hold, column by column and in this order.
-- Times are integer nanoseconds since the Unix epoch, UTC; durations are integer nanoseconds.
-- NULL means "the source cannot know this"; it never means zero.

CREATE TABLE events (             -- events/part-*.parquet: one row for each client command, sorted by start_ns inside a part
    session BIGINT NOT NULL,      -- the original connection, from 1; unique on the tape even where the server reused a thread id
    seq BIGINT NOT NULL,          -- order inside the session, from 1, without holes
    thread_id BIGINT,             -- the server's own connection id, for looking an event up in the server's logs
    command VARCHAR NOT NULL,     -- query, prepare, execute, init_db, ping, reset_connection, change_user, quit, ... (names.toml)
    start_ns BIGINT NOT NULL,     -- when the server began with it; inferred where precision_ns says so
    duration_ns BIGINT,           -- as the source measured it (measuring point: tape.json), cut where flags say so
    precision_ns BIGINT NOT NULL, -- start_ns is known to this: 1000 for microsecond logs, 1000000000 for logs of whole seconds
    request_ns BIGINT,            -- from the first to the last byte of the command on the wire; start_ns is the last
    first_byte_ns BIGINT,         -- from start_ns to the first byte of the answer on the wire
    "user" VARCHAR,               -- account name, without host
    host VARCHAR,                 -- client's host name, or its address where the source has no name
    db VARCHAR,                   -- default schema while it ran; '' = known to be none
    statement BLOB,               -- byte for byte what the client sent; NULL where the command has none or the source does not show it
    stmt BIGINT,                  -- prepared statement, numbered in its session
    params BLOB,                  -- what the command carries besides its text: bound values, long data, a file, ...: params.md
    insert_id BIGINT,             -- the first id that an INSERT or REPLACE generated: SET insert_id of the source, or its answer; NULL with several statements
    insert_ids VARCHAR,           -- of a text of several statements: "offset:id,..." for each INSERT or REPLACE in it that generated ids, at this byte of the statement; '' = ids were generated, but not known by which
    last_insert_id BIGINT,        -- SET last_insert_id the source gives
    file INTEGER NOT NULL,        -- which source file (tape.json: files), from 0
    "offset" BIGINT NOT NULL,     -- byte offset of the event in that file, uncompressed
    digest VARCHAR,               -- 16 hex digits of the normalised statement; NULL without a statement
    class VARCHAR,                -- read, write, transaction, session, ddl, admin (names.toml); NULL without a statement
    actions BIGINT,               -- what the statement does, and what its answer depends on: bits of names.toml; NULL without one
    rows_sent BIGINT,
    rows_examined BIGINT,
    rows_affected BIGINT,
    bytes_sent BIGINT,
    lock_ns BIGINT,               -- lock time as the server logs it
    warnings BIGINT,
    errno INTEGER,                -- 0 = known to have succeeded
    error VARCHAR,                -- the server's message
    checksum VARCHAR,             -- of the result rows: text:A:B or binary:A:B, A in their order, B as a set; 16 hex digits each
    flags BIGINT NOT NULL         -- bits of names.toml; bits 16-23 hold the number of the danger
);

CREATE TABLE sessions (           -- sessions.parquet: one row for each original connection; follows from events
    session BIGINT NOT NULL,
    thread_id BIGINT,
    "user" VARCHAR,               -- of its first event
    host VARCHAR,
    port INTEGER,                 -- client's TCP port
    db VARCHAR,                   -- of its first event: the schema to start with
    connect_ns BIGINT,            -- NULL where the connect was not seen
    connect_seen BOOLEAN NOT NULL,
    quit_seen BOOLEAN NOT NULL,
    open_at_start BOOLEAN,        -- was it open before the tape begins; NULL = unknown
    open_at_end BOOLEAN,          -- was it open after the tape ends; NULL = unknown
    first_ns BIGINT NOT NULL,     -- start of its first event
    last_ns BIGINT NOT NULL,      -- end of its last event
    events BIGINT NOT NULL,
    client_flags BIGINT,          -- capability flags as agreed
    charset VARCHAR,              -- id of the collation that its login asked for: 255 = utf8mb4_0900_ai_ci
    attributes VARCHAR,           -- connection attributes as JSON
    encrypted BOOLEAN             -- went over to TLS: its events are here because its keys were known; NULL = unknown
);

CREATE TABLE digests (            -- digests.parquet: one row for each digest; follows from events
    digest VARCHAR NOT NULL,
    class VARCHAR NOT NULL,
    actions BIGINT,               -- of the sample; SET autocommit = ? is one digest, whichever it sets
    properties BIGINT,            -- how the sample is written: bits of names.toml
    tables VARCHAR[],             -- that the sample names, in lower case, as it writes them: orders, shop.orders; not what views hide
    calls VARCHAR[],              -- functions and routines that it calls, in the same way
    normalized VARCHAR NOT NULL,  -- the normalised statement: no literal of the sample is in it
    sample BLOB,                  -- one statement of this digest, as captured; reports show it only when asked
    sample_bytes BIGINT NOT NULL, -- length of the sample before it was cut for this table
    pt_id VARCHAR,                -- Percona Toolkit's id of the sample (32 digits; older releases print the last 16); NULL for samples over 16 KiB
    events BIGINT NOT NULL,
    duration_ns BIGINT,           -- sum
    first_ns BIGINT NOT NULL,
    last_ns BIGINT NOT NULL
);

CREATE TABLE problems (           -- problems.parquet: what was not understood, each with its place
    file INTEGER NOT NULL,        -- which source file, from 0
    line BIGINT NOT NULL,         -- from 1; 0 where a line makes no sense
    "offset" BIGINT NOT NULL,     -- byte offset, uncompressed
    kind VARCHAR NOT NULL,        -- short and stable: truncated_statement, bad_time, ...
    detail VARCHAR NOT NULL       -- expected ..., found ...
);

-- SPDX-License-Identifier: Apache-2.0
-- Plans, format version 1: how two servers would run samples of a tape's digests. plans.json says which servers, and what was not asked.

CREATE TABLE samples (            -- samples.parquet: a few statements of each digest
    digest VARCHAR NOT NULL,
    sample INTEGER NOT NULL,      -- from 1
    why VARCHAR NOT NULL,         -- commonest, rarest, longest, smallest, largest: joined by commas
    db VARCHAR,                   -- the schema in which it ran on the tape
    statement VARCHAR NOT NULL    -- as captured, with its literals
);

CREATE TABLE plans (              -- plans.parquet: what a server answered
    side VARCHAR NOT NULL,        -- a, b
    digest VARCHAR NOT NULL,
    sample INTEGER NOT NULL,
    kind VARCHAR NOT NULL,        -- json, tree, analyze, server_digest, counters
    text VARCHAR,                 -- as the server gave it, with literal values; of counters JSON: executions, and what one counts
    error VARCHAR                 -- why there is none
);

CREATE TABLE schema_facts (       -- schema_facts.parquet: as in a run, of both servers
    side VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    db VARCHAR NOT NULL,
    tbl VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    facts VARCHAR NOT NULL
);

-- SPDX-License-Identifier: Apache-2.0
-- Plans, format version 1. These tables show how two servers would run samples of a tape's digests. plans.json lists
-- the servers and the digests that were not explained.

CREATE TABLE samples (            -- samples.parquet: a few statements of each digest
    digest VARCHAR NOT NULL,
    sample INTEGER NOT NULL,      -- number of the sample in its digest, from 1
    why VARCHAR NOT NULL,         -- commonest, rarest, longest, smallest, largest (joined by commas)
    db VARCHAR,                   -- default schema of the statement on the tape
    statement VARCHAR NOT NULL    -- as captured, with its literals
);

CREATE TABLE plans (              -- plans.parquet: the query plans that the servers returned
    side VARCHAR NOT NULL,        -- server: a or b
    digest VARCHAR NOT NULL,
    sample INTEGER NOT NULL,
    kind VARCHAR NOT NULL,        -- json, tree, analyze, server_digest, counters
    text VARCHAR,                 -- as the server returned it, with literals; counters: JSON (executions, counts of one)
    error VARCHAR                 -- the reason why there is no plan
);

CREATE TABLE schema_facts (       -- schema_facts.parquet: the schemas of both servers, as in a run
    side VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    db VARCHAR NOT NULL,
    tbl VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    facts VARCHAR NOT NULL
);

-- SPDX-License-Identifier: Apache-2.0
-- What a source told of sessions beyond their events. A later row of a session completes or corrects an earlier one.
CREATE TABLE facts (
    told BIGINT NOT NULL,      -- order in which the source told it
    session BIGINT NOT NULL,
    thread_id BIGINT,
    "user" VARCHAR,
    host VARCHAR,
    db VARCHAR,
    port INTEGER,
    client_flags BIGINT,
    charset VARCHAR,
    attributes VARCHAR,
    open_at_start BOOLEAN,
    open_at_end BOOLEAN,
    encrypted BOOLEAN
);

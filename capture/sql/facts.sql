-- SPDX-License-Identifier: Apache-2.0
-- Properties of sessions that a source reported in addition to events. A later row of a session completes or corrects
-- an earlier row.
CREATE TABLE facts (
    told BIGINT NOT NULL,      -- order in which the source reported the row
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

-- The last known properties of each session. `told` is the number of its last row in `facts`.
CREATE VIEW telling AS
SELECT
    session,
    arg_max(thread_id, told) AS thread_id,
    arg_max("user", told) AS "user",
    arg_max(host, told) AS host,
    arg_max(db, told) AS db,
    arg_max(port, told) AS port,
    arg_max(client_flags, told) AS client_flags,
    arg_max(charset, told) AS charset,
    arg_max(attributes, told) AS attributes,
    arg_max(open_at_start, told) AS open_at_start,
    arg_max(open_at_end, told) AS open_at_end,
    arg_max(encrypted, told) AS encrypted,
    max(told) AS told
FROM facts
GROUP BY session;

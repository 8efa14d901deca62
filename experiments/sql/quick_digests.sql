-- SPDX-License-Identifier: Apache-2.0
-- Which digests of a tape does quick mode send (reason is NULL), and why does it not send the others?
--
-- The result has one row for each digest, with its events and their time on the tape. Digests with the most time come
-- first. SET and USE are not samples, but quick mode sends them before the reads of their sessions.
--
-- Input: the macros of schemas/event_macros.sql and schemas/names.sql; the views tape_events and tape_digests; the
-- variables waiting (functions that wait) and stored (stored functions of the servers).
--
-- Run by hand: set the variables, create the views FROM the Parquet files of a tape, then .read quick_digests.sql
WITH seen AS (
    SELECT digest, any_value(class) AS class, bool_or(has_action(actions, 'locking_read')) AS locks,
        bool_or(danger_of(flags) <> 'none') AS dangerous, count(*) AS events, sum(duration_ns)::BIGINT AS tape_ns
    FROM tape_events
    WHERE digest IS NOT NULL AND executes(command)
    GROUP BY digest
),
named AS (
    SELECT digest, properties, tables, list_transform(calls, lambda name: regexp_replace(replace(name, '`', ''), '^.*\.', '')) AS calls
    FROM tape_digests
),
temporary AS (
    SELECT coalesce(flatten(list(tables)), []) AS names FROM tape_digests WHERE has_action(actions, 'temporary_table')
)
SELECT s.digest, s.events, s.tape_ns, CASE
    WHEN s.class = 'write' THEN 'writes'
    WHEN s.class IN ('transaction', 'session') THEN 'BEGIN, COMMIT, SET and the like'
    WHEN s.class IS DISTINCT FROM 'read' THEN 'DDL and administration'
    WHEN s.locks THEN 'reads that lock'
    WHEN s.dangerous THEN 'LOAD_FILE, INTO OUTFILE and the like'
    WHEN list_has_any(n.calls, getvariable('waiting')) OR has_property(n.properties, 'takes_user_lock')
        OR has_property(n.properties, 'frees_user_lock') THEN 'SLEEP, GET_LOCK and the like'
    WHEN list_has_any(n.calls, getvariable('stored')) THEN 'reads that call stored functions'
    WHEN list_has_any(n.tables, t.names) THEN 'reads of temporary tables'
    WHEN NOT has_property(n.properties, 'explainable') THEN 'SHOW, CALL and the like'
    END AS reason
FROM seen AS s
JOIN named AS n USING (digest)
CROSS JOIN temporary AS t
ORDER BY s.tape_ns DESC NULLS LAST, s.events DESC, s.digest

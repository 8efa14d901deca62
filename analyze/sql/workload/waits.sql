-- SPDX-License-Identifier: Apache-2.0
-- Which statements used rows that a transaction of another session still held, and how long did they wait?
--
-- - held_by: the last earlier statement of another session that has the same values.
-- - times: how often this happened.
-- - waited: how many of these statements had a lock time of at least 0.1 ms.
--
-- If the tape has no lock times, waited and lock_ns are NULL, and it is unknown whether the statements waited.
--
-- Input: the tables workload_keys, tx_facts and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE workload_digests AS SELECT 7 AS id, 'd' AS digest, 'update t' AS normalized;
--   CREATE TABLE tx_facts AS SELECT 1 AS tx, 5 AS signature;
--   CREATE TABLE workload_keys AS SELECT *, 't' AS tbl, 'id' AS name, '5' AS value
--       FROM (SELECT *, session AS tx, 1 AS seq, 7 AS digest
--       FROM (VALUES (1, 1, 9, 1, 0), (2, 2, 12, 8, 7000000)) AS v(session, start_ns, held_ns, duration_ns, lock_ns));
--   .read analyze/sql/workload/waits.sql
WITH touched AS (
    SELECT tbl, session, tx, digest, start_ns, duration_ns, lock_ns, lag(session) OVER by_time AS other_session,
        lag(tx) OVER by_time AS other_tx, lag(digest) OVER by_time AS other_digest, lag(held_ns) OVER by_time AS held_ns
    FROM workload_keys
    WINDOW by_time AS (PARTITION BY tbl, name, value ORDER BY start_ns, session, seq)
)
SELECT d.digest, any_value(d.normalized) AS normalized, printf('%016x', a.signature) AS signature, o.digest AS held_by,
    any_value(o.normalized) AS held_by_normalized, printf('%016x', b.signature) AS held_by_signature, t.tbl AS table_name,
    count(*) AS times, CASE WHEN count(t.lock_ns) > 0 THEN count(*) FILTER (t.lock_ns >= 100000) END AS waited,
    sum(t.lock_ns)::BIGINT AS lock_ns, max(t.lock_ns) AS longest_ns, sum(t.duration_ns)::BIGINT AS duration_ns
FROM touched AS t
JOIN workload_digests AS d ON t.digest = d.id
JOIN workload_digests AS o ON t.other_digest = o.id
LEFT JOIN tx_facts AS a ON t.tx = a.tx
LEFT JOIN tx_facts AS b ON t.other_tx = b.tx
WHERE t.other_session <> t.session AND t.start_ns < t.held_ns
GROUP BY d.digest, a.signature, o.digest, b.signature, t.tbl
HAVING count(t.lock_ns) = 0 OR count(*) FILTER (t.lock_ns >= 100000) > 0
ORDER BY lock_ns DESC NULLS LAST, times DESC, d.digest, held_by, signature, held_by_signature, table_name

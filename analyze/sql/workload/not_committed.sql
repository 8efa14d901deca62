-- SPDX-License-Identifier: Apache-2.0
-- Which statements write data that is never committed? Their transactions were rolled back, were the victim of a
-- deadlock, or were still open when the session ended. Under autocommit, a write commits itself.
--
-- Input: the tables workload_events, workload_tx and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 'a' AS digest, 'update t' AS normalized;
--   CREATE TABLE workload_tx AS SELECT 1 AS tx, 'rolled back' AS ended;
--   CREATE TABLE workload_events AS SELECT 1 AS tx, 1 AS digest, 'write' AS class, 0 AS errno, 5 AS duration_ns;
--   .read analyze/sql/workload/not_committed.sql
SELECT d.digest, any_value(d.normalized) AS normalized, count(*) AS events,
    count(*) FILTER (coalesce(t.ended, 'committed') = 'committed') AS committed, count(*) FILTER (t.ended = 'rolled back') AS rolled_back,
    count(*) FILTER (t.ended = 'deadlock') AS deadlock, count(*) FILTER (t.ended = 'left open') AS left_open,
    count(*) FILTER (t.ended = 'tape ended') AS not_known,
    sum(e.duration_ns) FILTER (t.ended IN ('rolled back', 'deadlock', 'left open'))::BIGINT AS lost_ns
FROM workload_events AS e
JOIN workload_digests AS d ON e.digest = d.id
LEFT JOIN workload_tx AS t USING (tx)
WHERE e.class = 'write' AND coalesce(e.errno, 0) = 0
GROUP BY d.digest
HAVING count(*) FILTER (t.ended IN ('rolled back', 'deadlock', 'left open')) > 0
ORDER BY committed > 0, lost_ns DESC NULLS LAST, events DESC, d.digest

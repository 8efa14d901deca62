-- SPDX-License-Identifier: Apache-2.0
-- Which reads could a cache have answered? These reads came again with the same text and always had the same answer.
--
-- Answers are compared by checksum if the tape has it, else by the number of rows. Reads without either are left out.
-- Reads that take locks or that depend on the time, on random numbers or on the session are also left out. Texts whose
-- answer changed are left out too. `saved_ns` is the time of all executions of each text except one.
--
-- Input: the tables workload_events and workload_digests, and the macro has_action.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   .read schemas/names.sql
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 'a' AS digest, 'select a' AS normalized, 0 AS actions;
--   CREATE TABLE workload_events AS SELECT *, 1 AS rows_sent, 0 AS checksum, true AS checksum_known
--       FROM (SELECT 1 AS digest, 'read' AS class, 0 AS errno, 5 AS text, 5 AS duration_ns FROM range(3));
--   .read analyze/sql/workload/constant_reads.sql
WITH asked AS (
    SELECT id FROM workload_digests
    WHERE NOT (has_action(actions, 'locking_read') OR has_action(actions, 'asks_time') OR has_action(actions, 'random')
        OR has_action(actions, 'session_dependent') OR has_action(actions, 'asks_server'))
), texts AS (
    SELECT digest, text, count(*) AS n, sum(duration_ns) AS duration_ns, count(rows_sent) AS rows_known,
        min(rows_sent) = max(rows_sent) AS same_rows, count(*) FILTER (checksum_known) AS sums_known,
        min(checksum) = max(checksum) AS same_sum
    FROM workload_events
    WHERE class = 'read' AND coalesce(errno, 0) = 0 AND digest IN (SELECT id FROM asked)
    GROUP BY digest, text
    HAVING count(*) > 1
)
SELECT d.digest, any_value(d.normalized) AS normalized, count(*) AS texts, sum(t.n - 1)::BIGINT AS repeats,
    bool_and(t.sums_known = t.n) AS by_checksum, sum(t.duration_ns * (t.n - 1) / t.n)::BIGINT AS saved_ns
FROM texts AS t
JOIN workload_digests AS d ON t.digest = d.id
WHERE CASE WHEN t.sums_known = t.n THEN t.same_sum AND coalesce(t.same_rows, true) ELSE t.rows_known = t.n AND t.same_rows END
GROUP BY d.digest
ORDER BY saved_ns DESC NULLS LAST, repeats DESC, d.digest

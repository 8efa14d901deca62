-- SPDX-License-Identifier: Apache-2.0
-- Which sequences of digests form transactions? How often do these transactions occur, how long do they take, and in
-- which order do they lock tables?
--
-- - statements: the digests in order.
-- - times: how often each digest came in a row, in the first such transaction.
-- - locks: the tables, in the order of their first write or locking read.
--
-- Input: the tables tx_facts, tx_steps, workload_digests and digest_parts.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE tx_facts AS SELECT *, 2 AS duration_ns, 0 AS lock_ns, 'committed' AS ended
--       FROM (VALUES (1, 5, 1, 1, 0, 9)) AS v(tx, signature, statements, writes, start_ns, end_ns);
--   CREATE TABLE tx_steps AS SELECT 1 AS tx, 1 AS seq, 7 AS digest, 1 AS step;
--   CREATE TABLE workload_digests AS SELECT 7 AS id, 'd' AS digest, 'update t' AS normalized;
--   CREATE TABLE digest_parts AS SELECT 7 AS id, 'table' AS what, 't' AS tbl, 'write' AS role;
--   .read analyze/sql/workload/signatures.sql
WITH grouped AS (
    SELECT signature, min(tx) AS example, count(*) AS transactions, count(*) FILTER (ended = 'committed') AS committed,
        count(*) FILTER (ended IN ('rolled back', 'deadlock')) AS rolled_back, count(*) FILTER (ended = 'deadlock') AS deadlocks,
        count(*) FILTER (ended = 'left open') AS left_open, count(*) FILTER (writes = 0) AS only_reading,
        sum(duration_ns)::BIGINT AS duration_ns, sum(lock_ns)::BIGINT AS lock_ns,
        quantile_disc(end_ns - start_ns, 0.5) AS p50_span_ns, max(end_ns - start_ns) AS max_span_ns
    FROM tx_facts
    GROUP BY signature
), steps AS (
    SELECT s.tx, s.step, any_value(s.digest) AS digest, count(*) AS times
    FROM tx_steps AS s
    SEMI JOIN grouped AS g ON s.tx = g.example
    GROUP BY s.tx, s.step
), sequences AS (
    SELECT s.tx, list({'digest': d.digest, 'times': s.times, 'statement': d.normalized} ORDER BY s.step) AS statements
    FROM steps AS s
    JOIN workload_digests AS d ON s.digest = d.id
    GROUP BY s.tx
), locked AS (
    SELECT s.tx, p.tbl, min(s.step) AS step
    FROM steps AS s
    JOIN digest_parts AS p ON s.digest = p.id AND p.what = 'table' AND p.role IN ('write', 'lock')
    GROUP BY s.tx, p.tbl
), orders AS (
    SELECT tx, list(tbl ORDER BY step, tbl) AS locks FROM locked GROUP BY tx
)
SELECT printf('%016x', g.signature) AS signature, g.* EXCLUDE (signature, example), q.statements, coalesce(o.locks, []) AS locks
FROM grouped AS g
JOIN sequences AS q ON g.example = q.tx
LEFT JOIN orders AS o ON g.example = o.tx
ORDER BY g.duration_ns DESC NULLS LAST, g.transactions DESC, signature

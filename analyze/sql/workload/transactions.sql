-- SPDX-License-Identifier: Apache-2.0
-- Which signature does each transaction have? The signature is the sequence of its digests. Repetitions of one digest
-- in a row count as one. BEGIN, COMMIT and settings are not part of the signature.
--
-- Input: the tables workload_events and workload_tx. Makes: the tables tx_steps and tx_facts.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE workload_tx AS SELECT 1 AS tx, 1 AS session, 'committed' AS ended, 9 AS end_ns;
--   CREATE TABLE workload_events AS SELECT *, 0 AS start_ns, 2 AS end_ns, 2 AS duration_ns, 0 AS lock_ns
--       FROM (VALUES (1, 1, 1, 7, 'write')) AS v(tx, session, seq, digest, class);
--   .read analyze/sql/workload/transactions.sql
CREATE OR REPLACE TABLE tx_steps AS
WITH followed AS (
    SELECT tx, seq, digest, class, start_ns, end_ns, duration_ns, lock_ns,
        digest IS DISTINCT FROM lag(digest) OVER (PARTITION BY tx ORDER BY seq) AS changes
    FROM workload_events
    WHERE tx IS NOT NULL AND class NOT IN ('transaction', 'session')
)
SELECT *, sum(changes::INTEGER) OVER (PARTITION BY tx ORDER BY seq ROWS UNBOUNDED PRECEDING)::BIGINT AS step
FROM followed;

CREATE OR REPLACE TABLE tx_facts AS
SELECT s.tx, bit_xor(hash(s.digest, s.step)) FILTER (s.changes) AS signature, count(*) AS statements,
    count(*) FILTER (s.class = 'write') AS writes, sum(s.duration_ns)::BIGINT AS duration_ns, sum(s.lock_ns)::BIGINT AS lock_ns,
    min(s.start_ns) AS start_ns, greatest(max(s.end_ns), any_value(t.end_ns)) AS end_ns, any_value(t.ended) AS ended,
    any_value(t.session) AS session
FROM tx_steps AS s
JOIN workload_tx AS t USING (tx)
GROUP BY s.tx

-- SPDX-License-Identifier: Apache-2.0
-- Which signature has each transaction: its digests in order, where the same one several times in a row counts as one? BEGIN,
-- COMMIT and settings are not part of it. Input: workload_events, workload_tx. Makes: tx_steps, tx_facts.
-- By hand, with what `querytape inspect` makes before it:
--   CREATE TABLE workload_tx AS SELECT 1 AS tx, 1 AS session, 'committed' AS ended, 9 AS end_ns;
--   CREATE TABLE workload_events AS FROM (VALUES (1, 1, 1, 7, 'write', 0, 2, 2, 0)) AS v(tx, session, seq, digest, class, start_ns, end_ns, duration_ns, lock_ns);
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

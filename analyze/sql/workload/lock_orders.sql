-- SPDX-License-Identifier: Apache-2.0
-- Which two tables do some transactions lock in one order, and others in the reverse order? Such pairs can cause
-- deadlocks.
--
-- Input: the tables tx_steps and digest_parts.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE tx_steps AS FROM (VALUES (1, 7, 1), (1, 8, 2), (2, 8, 1), (2, 7, 2)) AS v(tx, digest, step);
--   CREATE TABLE digest_parts AS
--       FROM (VALUES (7, 'table', 't', 'write'), (8, 'table', 'u', 'write')) AS v(id, what, tbl, role);
--   .read analyze/sql/workload/lock_orders.sql
WITH locked AS (
    SELECT s.tx, p.tbl, min(s.step) AS step
    FROM tx_steps AS s
    JOIN (SELECT DISTINCT id, tbl FROM digest_parts WHERE what = 'table' AND role IN ('write', 'lock')) AS p ON s.digest = p.id
    GROUP BY s.tx, p.tbl
), pairs AS (
    SELECT least(a.tbl, b.tbl) AS table_a, greatest(a.tbl, b.tbl) AS table_b, count(*) FILTER (a.tbl < b.tbl) AS a_first,
        count(*) FILTER (a.tbl > b.tbl) AS b_first
    FROM locked AS a
    JOIN locked AS b ON a.tx = b.tx AND a.step < b.step AND a.tbl <> b.tbl
    GROUP BY ALL
)
FROM pairs
WHERE a_first > 0 AND b_first > 0
ORDER BY least(a_first, b_first) DESC, table_a, table_b

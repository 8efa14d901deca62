-- SPDX-License-Identifier: Apache-2.0
-- Which rows are written or locked most often? Rows are identified by the values in the statements' conditions.
--
-- The result has at most a thousand rows, those with the most events. A row that was used only once is left out.
-- `number` distinguishes the values of one set of columns without showing them.
--
-- Input: the table workload_keys.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE workload_keys AS SELECT *, 7 AS digest, 'write' AS class, 1 AS duration_ns, 0 AS lock_ns
--       FROM (SELECT 't' AS tbl, 'id' AS name, '5' AS value, 1 AS session FROM range(3));
--   .read analyze/sql/workload/hot_rows.sql
SELECT tbl AS table_name, name AS columns, row_number() OVER (PARTITION BY tbl, name ORDER BY count(*) DESC, value) AS number, value, count(*) AS events,
    count(*) FILTER (class = 'write') AS writes, count(DISTINCT session) AS sessions, count(DISTINCT digest) AS digests,
    sum(lock_ns)::BIGINT AS lock_ns, sum(duration_ns)::BIGINT AS duration_ns
FROM workload_keys
GROUP BY tbl, name, value
HAVING count(*) > 1
ORDER BY events DESC, lock_ns DESC NULLS LAST, table_name, columns, number
LIMIT 1000

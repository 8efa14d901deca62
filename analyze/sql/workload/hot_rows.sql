-- SPDX-License-Identifier: Apache-2.0
-- Which rows are written or locked most often, by the values that statements ask for? The thousand with the most events, of those that
-- came more than once. number tells the values of the same columns apart
-- without showing them.
-- Input: workload_keys.
-- By hand, with what `querytape inspect` makes before it:
--   CREATE TABLE workload_keys AS SELECT 't' AS tbl, 'id' AS name, '5' AS value, 1 AS session, 7 AS digest, 'write' AS class, 1 AS duration_ns, 0 AS lock_ns FROM range(3);
--   .read analyze/sql/workload/hot_rows.sql
SELECT tbl AS table_name, name AS columns, row_number() OVER (PARTITION BY tbl, name ORDER BY count(*) DESC, value) AS number, value, count(*) AS events,
    count(*) FILTER (class = 'write') AS writes, count(DISTINCT session) AS sessions, count(DISTINCT digest) AS digests,
    sum(lock_ns)::BIGINT AS lock_ns, sum(duration_ns)::BIGINT AS duration_ns
FROM workload_keys
GROUP BY tbl, name, value
HAVING count(*) > 1
ORDER BY events DESC, lock_ns DESC NULLS LAST, table_name, columns, number
LIMIT 1000

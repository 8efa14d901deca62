-- SPDX-License-Identifier: Apache-2.0
-- Which tables, columns and joins does each digest use, the most expensive digest first?
--
-- A column whose table is NULL may belong to several tables. `plain` means that the column is alone on its side of the
-- comparison, so that an index could be used.
--
-- Input: the tables digest_parts and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE digest_parts AS SELECT *, '=' AS op, NULL AS tbl2, NULL AS name2, true AS plain
--       FROM (VALUES (1, 'table', 't', 'a', 'read')) AS v(id, what, tbl, name, role);
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 'd' AS digest, 1 AS events, 1 AS duration_ns;
--   .read analyze/sql/workload/usage.sql
WITH tables AS (
    SELECT id, list({'name': tbl, 'alias': name, 'access': role} ORDER BY tbl, name NULLS FIRST, role) AS tables
    FROM (SELECT DISTINCT id, tbl, name, role FROM digest_parts WHERE what = 'table')
    GROUP BY id
), columns AS (
    SELECT id, list({'table': tbl, 'column': name, 'role': role, 'op': op, 'plain': plain}
        ORDER BY role, tbl NULLS LAST, name, op, plain) AS columns
    FROM (SELECT DISTINCT id, tbl, name, role, op, plain FROM digest_parts WHERE what = 'column')
    GROUP BY id
), ends AS (
    SELECT id, op, coalesce(tbl || '.', '') || name AS a, coalesce(tbl2 || '.', '') || name2 AS b
    FROM digest_parts
    WHERE what = 'join'
), joins AS (
    SELECT id, list(DISTINCT text ORDER BY text) AS joins
    FROM (SELECT id, CASE WHEN op = '=' THEN least(a, b) || ' = ' || greatest(a, b) ELSE a || ' ' || op || ' ' || b END AS text FROM ends)
    GROUP BY id
)
SELECT d.digest, coalesce(t.tables, []) AS tables, coalesce(c.columns, []) AS columns, coalesce(j.joins, []) AS joins
FROM workload_digests AS d
LEFT JOIN tables AS t USING (id)
LEFT JOIN columns AS c USING (id)
LEFT JOIN joins AS j USING (id)
WHERE t.id IS NOT NULL OR c.id IS NOT NULL
ORDER BY d.duration_ns DESC NULLS LAST, d.events DESC, d.digest

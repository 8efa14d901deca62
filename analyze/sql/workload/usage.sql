-- SPDX-License-Identifier: Apache-2.0
-- Which tables, columns and joins has each digest, the costliest first? A column whose tbl is NULL may be of several tables. plain:
-- it stands alone on its side of the comparison, so that an index could be used. Input: digest_parts, workload_digests.
-- By hand, with what `querytape inspect` makes before it:
--   CREATE TABLE digest_parts AS FROM (VALUES (1, 'table', 't', 'a', 'read', '=', NULL, NULL, true)) AS v(id, what, tbl, name, role, op, tbl2, name2, plain);
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

-- SPDX-License-Identifier: Apache-2.0
-- Which columns are used in which role? The columns with the most statement time come first. A statement counts once
-- for each of its columns and roles.
--
-- Input: the tables digest_parts and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE digest_parts AS
--       FROM (VALUES (1, 'column', 't', 'a', 'filter', true)) AS v(id, what, tbl, name, role, plain);
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 1 AS events, 1 AS duration_ns;
--   .read analyze/sql/workload/columns.sql
WITH used AS (
    SELECT id, tbl, name, role, bool_or(plain) AS plain
    FROM digest_parts
    WHERE what = 'column'
    GROUP BY ALL
)
SELECT u.tbl AS table_name, u.name AS column_name, u.role, count(*) AS digests, count(*) FILTER (NOT u.plain) AS wrapped,
    sum(d.events)::BIGINT AS events, sum(d.duration_ns)::BIGINT AS duration_ns
FROM used AS u
JOIN workload_digests AS d USING (id)
GROUP BY ALL
ORDER BY duration_ns DESC NULLS LAST, events DESC, table_name NULLS LAST, column_name, role

-- SPDX-License-Identifier: Apache-2.0
-- Which schemas, users, statement classes, tables and sessions take the time, and on which side do they take more time?
--
-- `kind` names the group of a row. Each group has the 50 entries with the most time. Only tables that a statement names
-- are counted.
--
-- Input: the tables group_counts and group_quantiles.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/quantiles.sql
--   .read analyze/sql/report/groups.sql
SELECT s.kind, s.name, s.run, s.n, s.errors, s.total_ns, q.p[1] AS p50_ns, q.p[3] AS p95_ns, q.p[4] AS p99_ns
FROM group_counts AS s
LEFT JOIN group_quantiles AS q USING (kind, name, run)
ORDER BY list_position(['schema', 'user', 'table', 'class', 'session'], s.kind), s.place, s.run

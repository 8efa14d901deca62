-- SPDX-License-Identifier: Apache-2.0
-- Why were events sent later than they were due, and by how much? The result has one row for each run and cause:
-- - session: the previous answer of the session had not arrived (the target is slower than the original).
-- - order: the event waited for commits of other sessions (--order commit).
-- - connect: the connection of the session was not open yet (only the first event of a session).
-- - feeder: the event was not in the queue of its session yet (the memory budget was full).
-- - tool: everything was ready, but the replayer was late, or the machine woke its thread late.
--
-- The parts of one event add up to its lateness. With --pace none there are no rows.
--
-- Input: the table late_quantiles.
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
--   .read analyze/sql/report/lateness.sql
SELECT run, cause, events, over_1ms, p[1]::BIGINT AS p50_ns, p[4]::BIGINT AS p99_ns, longest_ns::BIGINT AS max_ns, total_ns
FROM late_quantiles
WHERE cause <> 'order' OR longest_ns > 0
ORDER BY run, list_position(['all', 'session', 'order', 'connect', 'feeder', 'tool'], cause)

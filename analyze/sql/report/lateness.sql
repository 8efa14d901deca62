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
-- Input: the table late_bins.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/lateness.sql
-- An event whose lateness has only one part is late by the tool.
CREATE OR REPLACE TEMP TABLE lateness_bins AS
WITH causes AS (
    SELECT run, unnest(['all', 'session', 'connect', 'order', 'feeder', 'tool']) AS cause, sum(n) AS events FROM late_bins WHERE cause = 'all' GROUP BY run
), all_causes AS (
    SELECT run, cause, bin, n, least, longest_ns, total_ns, over_1ms FROM late_bins
    UNION ALL
    SELECT run, 'tool', bin, n, least, longest_ns, total_ns, over_1ms FROM late_bins WHERE cause = 'all' AND NOT several AND bin >= 0
)
FROM all_causes
UNION ALL
SELECT run, cause, -1, events - coalesce((SELECT sum(n) FROM all_causes AS l WHERE l.run = c.run AND l.cause = c.cause), 0), 0, 0, 0, 0 FROM causes AS c;

CREATE OR REPLACE TEMP VIEW lateness_values AS
SELECT {'run': run, 'cause': cause} AS key, bin, n::BIGINT AS n, least FROM lateness_bins;

SELECT run, cause, sum(n)::BIGINT AS events, sum(over_1ms)::BIGINT AS over_1ms,
    any_value(v.p[1])::BIGINT AS p50_ns, any_value(v.p[4])::BIGINT AS p99_ns,
    max(longest_ns)::BIGINT AS max_ns, sum(total_ns)::BIGINT AS total_ns
FROM lateness_bins AS l
JOIN values_at('lateness_values', 'usual', 89) AS v ON l.run = v.key.run AND l.cause = v.key.cause
GROUP BY run, cause
HAVING cause <> 'order' OR max(longest_ns) > 0
ORDER BY run, list_position(['all', 'session', 'order', 'connect', 'feeder', 'tool'], cause)

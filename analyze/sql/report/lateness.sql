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
-- Input: the view every_outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/lateness.sql
CREATE OR REPLACE TEMP MACRO four_digits(ns) AS
    CASE
        WHEN ns < 10000 THEN ns
        WHEN ns < 100000 THEN ns - ns % 10
        WHEN ns < 1000000 THEN ns - ns % 100
        WHEN ns < 10000000 THEN ns - ns % 1000
        WHEN ns < 100000000 THEN ns - ns % 10000
        ELSE ns - ns % (10 ** (floor(log10(ns)) - 3))::BIGINT
    END::BIGINT;

WITH sent AS (
    SELECT run, greatest(0, sent_ns - due_ns) AS late,
        least(greatest(0, free_ns - due_ns), coalesce(order_ns, 0)) AS ordered,
        greatest(0, queued_ns - greatest(due_ns, free_ns)) AS feeding,
        greatest(0, sent_ns - greatest(due_ns, free_ns, queued_ns)) AS tool
    FROM every_outcome
    WHERE status = 'executed' AND due_ns IS NOT NULL AND sent_ns IS NOT NULL
), firsts AS (
    SELECT run, round, session, min(seq) AS first_seq
    FROM every_outcome
    WHERE status = 'executed' AND due_ns IS NOT NULL AND sent_ns IS NOT NULL
    GROUP BY ALL
), held AS ( -- events whose session was not ready, because of its connect or its previous answer
    SELECT o.run, o.seq = f.first_seq AS is_first,
        o.free_ns - o.due_ns - least(o.free_ns - o.due_ns, coalesce(o.order_ns, 0)) AS ns
    FROM every_outcome AS o
    JOIN firsts AS f USING (run, round, session)
    WHERE o.status = 'executed' AND o.sent_ns IS NOT NULL AND o.free_ns > o.due_ns
), late AS ( -- rounded down to four digits, which reduces millions of values to thousands; 0 is counted later
    SELECT run, 'all' AS cause, four_digits(late) AS ns, count(*) AS n, max(late) AS longest, sum(late) AS total FROM sent WHERE late > 0 GROUP BY ALL
    UNION ALL SELECT run, if(is_first, 'connect', 'session') AS cause, four_digits(ns), count(*), max(ns), sum(ns) FROM held WHERE ns > 0 GROUP BY ALL
    UNION ALL SELECT run, 'order', four_digits(ordered), count(*), max(ordered), sum(ordered) FROM sent WHERE ordered > 0 GROUP BY ALL
    UNION ALL SELECT run, 'feeder', four_digits(feeding), count(*), max(feeding), sum(feeding) FROM sent WHERE feeding > 0 GROUP BY ALL
    UNION ALL SELECT run, 'tool', four_digits(tool), count(*), max(tool), sum(tool) FROM sent WHERE tool > 0 GROUP BY ALL
), causes AS (
    SELECT run, unnest(['all', 'session', 'connect', 'order', 'feeder', 'tool']) AS cause, n FROM (SELECT run, count(*) AS n FROM sent GROUP BY ALL)
), counted AS (
    FROM late
    UNION ALL SELECT c.run, c.cause, 0, c.n - coalesce(sum(l.n), 0), 0, 0 FROM causes AS c LEFT JOIN late AS l USING (run, cause) GROUP BY c.run, c.cause, c.n
), placed AS (
    SELECT *, sum(n) OVER (PARTITION BY run, cause ORDER BY ns) AS upto, sum(n) OVER (PARTITION BY run, cause) AS events FROM counted
)
SELECT run, cause, any_value(events)::BIGINT AS events,
    (coalesce(sum(n) FILTER (ns > 1000000), 0))::BIGINT AS over_1ms,
    min(ns) FILTER (upto >= 0.5 * events)::BIGINT AS p50_ns,
    min(ns) FILTER (upto >= 0.99 * events)::BIGINT AS p99_ns,
    max(longest)::BIGINT AS max_ns,
    sum(total)::BIGINT AS total_ns
FROM placed
GROUP BY run, cause
HAVING cause <> 'order' OR max(longest) > 0
ORDER BY run, list_position(['all', 'session', 'order', 'connect', 'feeder', 'tool'], cause)

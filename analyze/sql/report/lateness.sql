-- SPDX-License-Identifier: Apache-2.0
-- Why were events sent later than they were due, and by how much? Per run and cause:
--   session  the previous answer of its session was not there yet (the target is slower than the original)
--   order    it waited for commits of other sessions (--order commit)
--   connect  its connection was not there yet (a session's first event)
--   feeder   it was not in its session's queue yet (the memory budget was full)
--   tool     everything was ready: the replayer itself, and the machine's own wake-ups
-- The parts of one event add up to its lateness. Input: every_outcome. Nothing at --pace none.
-- By hand, with the variables of prelude.sql:
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

WITH firsts AS (
    SELECT run, round, session, min(seq) AS first_seq
    FROM every_outcome
    WHERE status = 'executed' AND due_ns IS NOT NULL AND sent_ns IS NOT NULL
    GROUP BY ALL
), sent AS (
    SELECT o.run, o.due_ns, o.queued_ns, o.free_ns, o.sent_ns, o.seq = f.first_seq AS is_first,
        least(greatest(0, o.free_ns - o.due_ns), coalesce(o.order_ns, 0)) AS order_ns
    FROM every_outcome AS o
    JOIN firsts AS f USING (run, round, session)
    WHERE o.status = 'executed' AND o.due_ns IS NOT NULL AND o.sent_ns IS NOT NULL
), parts AS (
    SELECT run,
        greatest(0, sent_ns - due_ns) AS late,
        CASE WHEN is_first THEN 0 ELSE greatest(0, free_ns - due_ns) - order_ns END AS busy,
        order_ns AS ordered,
        CASE WHEN is_first THEN greatest(0, free_ns - due_ns) - order_ns ELSE 0 END AS connecting,
        greatest(0, queued_ns - greatest(due_ns, free_ns)) AS feeding,
        greatest(0, sent_ns - greatest(due_ns, free_ns, queued_ns)) AS tool
    FROM sent
), counted AS ( -- four digits are kept, so that millions of values are some thousands
    SELECT run, 'all' AS cause, four_digits(late) AS ns, count(*) AS n, max(late) AS longest, sum(late) AS total FROM parts GROUP BY ALL
    UNION ALL SELECT run, 'session', four_digits(busy), count(*), max(busy), sum(busy) FROM parts GROUP BY ALL
    UNION ALL SELECT run, 'connect', four_digits(connecting), count(*), max(connecting), sum(connecting) FROM parts GROUP BY ALL
    UNION ALL SELECT run, 'order', four_digits(ordered), count(*), max(ordered), sum(ordered) FROM parts GROUP BY ALL
    UNION ALL SELECT run, 'feeder', four_digits(feeding), count(*), max(feeding), sum(feeding) FROM parts GROUP BY ALL
    UNION ALL SELECT run, 'tool', four_digits(tool), count(*), max(tool), sum(tool) FROM parts GROUP BY ALL
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

-- SPDX-License-Identifier: Apache-2.0
-- Why were events sent later than they were due, and by how much? Per run and cause:
--   session  its previous answer was not there yet (the target is slower than the original, or the session was busy)
--   order    it waited for other sessions' commits (--order commit)
--   connect  its connection was not there yet (a session's first event)
--   feeder   it was not in its session's queue yet (the memory budget was full)
--   tool     everything was ready: the replayer itself, and the machine's own wake-ups
-- The parts of one event add up to its lateness. Input: outcome. Nothing at --pace none.
WITH sent AS (
    SELECT run, session, seq, due_ns, fed_ns, free_ns, sent_ns, order_ns,
        seq = min(seq) OVER (PARTITION BY run, round, session) AS is_first
    FROM outcome
    WHERE status = 'executed' AND due_ns IS NOT NULL AND sent_ns IS NOT NULL
), parts AS (
    SELECT run, is_first,
        greatest(0, free_ns - due_ns) - order_late_ns AS busy_ns,
        order_late_ns,
        greatest(0, fed_ns - greatest(due_ns, free_ns)) AS feeder_ns,
        greatest(0, sent_ns - greatest(due_ns, free_ns, fed_ns)) AS tool_ns,
        greatest(0, sent_ns - due_ns) AS late_ns
    FROM (SELECT *, least(greatest(0, free_ns - due_ns), coalesce(order_ns, 0)) AS order_late_ns FROM sent)
), long AS (
    SELECT run, 'all' AS cause, late_ns AS ns FROM parts
    UNION ALL SELECT run, 'session', CASE WHEN is_first THEN 0 ELSE busy_ns END FROM parts
    UNION ALL SELECT run, 'connect', CASE WHEN is_first THEN busy_ns ELSE 0 END FROM parts
    UNION ALL SELECT run, 'order', order_late_ns FROM parts
    UNION ALL SELECT run, 'feeder', feeder_ns FROM parts
    UNION ALL SELECT run, 'tool', tool_ns FROM parts
)
SELECT run, cause, count(*) AS events,
    count(*) FILTER (ns > 1000000) AS over_1ms,
    quantile_disc(ns, 0.5)::BIGINT AS p50_ns,
    quantile_disc(ns, 0.99)::BIGINT AS p99_ns,
    max(ns)::BIGINT AS max_ns,
    sum(ns)::BIGINT AS total_ns
FROM long
GROUP BY run, cause
HAVING cause <> 'order' OR max(ns) > 0
ORDER BY run, list_position(['all', 'session', 'order', 'connect', 'feeder', 'tool'], cause)

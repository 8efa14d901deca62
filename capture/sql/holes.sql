-- SPDX-License-Identifier: Apache-2.0
-- Are parts of the capture missing? The result has one row with four counts:
-- - executed prepared statements, in sessions that began after the first tenth of the tape
-- - how many of these statements the session did not prepare before
-- - transactions that began and that have a later BEGIN, COMMIT or ROLLBACK in their session
-- - how many of these transactions are followed by another BEGIN without an end
--
-- Input: the view events.
WITH span AS (
    SELECT min(start_ns) AS first_ns, max(start_ns) AS last_ns FROM events
),
began AS (
    SELECT session, min(start_ns) AS first_ns FROM events GROUP BY session
),
prepared AS (
    SELECT session, statement, min(start_ns) AS at_ns FROM events WHERE command = 'prepare' GROUP BY session, statement
),
executed AS (
    SELECT e.session, e.statement, min(e.start_ns) AS at_ns
    FROM events e
    JOIN began b USING (session)
    CROSS JOIN span s
    WHERE e.command = 'execute' AND b.first_ns > s.first_ns + (s.last_ns - s.first_ns) // 10
    GROUP BY e.session, e.statement
),
edges AS (
    SELECT session, start_ns, seq, actions & $begin <> 0 AS begins
    FROM events
    WHERE actions & $edge <> 0 AND command <> 'prepare'
),
followed AS (
    SELECT begins, lead(begins) OVER (PARTITION BY session ORDER BY start_ns, seq) AS next_begins FROM edges
)
SELECT
    (SELECT count(*) FROM executed),
    (SELECT count(*) FROM executed e ANTI JOIN prepared p
        ON p.session = e.session AND p.statement = e.statement AND p.at_ns <= e.at_ns),
    (SELECT count(*) FROM followed WHERE begins AND next_begins IS NOT NULL),
    (SELECT count(*) FROM followed WHERE begins AND next_begins)

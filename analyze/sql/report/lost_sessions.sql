-- SPDX-License-Identifier: Apache-2.0
-- Which sessions failed to connect or lost their connection in the run under test, but not in the reference? How many
-- of their events were not sent? The result has one row for each error number.
--
-- Input: the views run_session (run, round and the columns of sessions) and every_outcome, and the variable b.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   CREATE VIEW run_session AS SELECT 'a' AS run, 1 AS round, * FROM 'old.run/sessions.parquet'
--       UNION ALL SELECT 'b', 1, * FROM 'new.run/sessions.parquet';
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/lost_sessions.sql
WITH lost AS (
    SELECT run, round, session, clone, errno, error
    FROM run_session AS s
    WHERE run = coalesce(getvariable('b'), 'a') AND errno <> 0 AND NOT EXISTS (
        FROM run_session AS r
        WHERE r.run = 'a' AND s.run <> 'a' AND r.errno <> 0 AND (r.round, r.session, r.clone) = (s.round, s.session, s.clone))
), counted AS (
    SELECT run, round, session, clone, count(*) AS n
    FROM every_outcome
    WHERE status = 'not_sent' AND reason IN ('connect_failed', 'connection_lost', 'transaction_lost')
    GROUP BY ALL
)
SELECT errno, min(error) AS error, count(*) AS sessions, sum(n)::BIGINT AS not_sent
FROM lost
JOIN counted USING (run, round, session, clone)
GROUP BY errno
ORDER BY not_sent DESC, errno

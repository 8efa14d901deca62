-- SPDX-License-Identifier: Apache-2.0
-- How much of what was sent failed on every side, and did not fail on the tape? One row: sent, failed, errno (the most
-- frequent), session and seq of the first. Where the tape does not know whether an event failed, it is taken not to have.
-- With two runs every side is both of them; with one it is that run. Input: outcome, tape_event (prelude.sql).
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/failed_everywhere.sql
WITH sent AS (
    SELECT a.session, a.seq, a.errno, a.errno <> 0 AND b.errno <> 0 AS failed
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round
    WHERE a.run = 'a' AND a.status = 'executed' AND b.status = 'executed'
    UNION ALL
    SELECT session, seq, errno, errno <> 0 AS failed
    FROM outcome
    WHERE run = 'a' AND status = 'executed' AND getvariable('b') IS NULL
), failures AS (
    SELECT s.*
    FROM sent AS s
    JOIN tape_event AS t USING (session, seq)
    WHERE s.failed AND coalesce(t.errno, 0) = 0
)
SELECT (SELECT count(*) FROM sent) AS sent, count(*) AS failed, mode(errno ORDER BY errno) AS errno,
    arg_min(session, (session, seq)) AS first_session, arg_min(seq, (session, seq)) AS first_seq
FROM failures

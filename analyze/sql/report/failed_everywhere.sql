-- SPDX-License-Identifier: Apache-2.0
-- How much of what was sent failed on every side, and is not known to have failed on the tape? One row: sent; succeeded (of what failed,
-- how many the tape knows to have succeeded) and unknown (of how many it does not know), each with the errno that is most frequent among
-- them; session and seq of the first. With two runs every side is both of them; with one it is that run. Input: joined (prelude.sql).
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/failed_everywhere.sql
WITH sent AS (
    SELECT session, seq, a_errno AS errno, tape_errno, a_errno <> 0 AND (getvariable('b') IS NULL OR b_errno <> 0) AS failed
    FROM joined
    WHERE a_status = 'executed' AND (getvariable('b') IS NULL OR b_status = 'executed')
)
SELECT (SELECT count(*) FROM sent) AS sent,
    count(*) FILTER (tape_errno = 0) AS succeeded, mode(errno ORDER BY errno) FILTER (tape_errno = 0) AS succeeded_errno,
    count(*) FILTER (tape_errno IS NULL) AS unknown, mode(errno ORDER BY errno) FILTER (tape_errno IS NULL) AS unknown_errno,
    arg_min(session, (session, seq)) AS first_session, arg_min(seq, (session, seq)) AS first_seq
FROM sent
WHERE failed AND coalesce(tape_errno, 0) = 0

-- SPDX-License-Identifier: Apache-2.0
-- How much of what was sent failed on every side, and is not known to have failed on the tape? One row: sent; succeeded (of what failed,
-- how many the tape knows to have succeeded) and unknown (of how many it does not know), each with the errno that is most frequent among
-- them; session and seq of the first. With two runs every side is both of them; with one it is that run. Input: joined (prelude.sql).
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/failed_everywhere.sql
CREATE OR REPLACE TEMP TABLE failed_everywhere_sent AS
SELECT count(*) AS n
FROM joined
WHERE a_status = 'executed' AND (getvariable('b') IS NULL OR b_status = 'executed')
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE failed_everywhere_counts AS
SELECT a_errno AS errno, tape_errno, count(*) AS n, min({'session': session, 'seq': seq}) AS first
FROM joined
WHERE a_status = 'executed' AND (getvariable('b') IS NULL OR b_status = 'executed')
    AND a_errno <> 0 AND (getvariable('b') IS NULL OR b_errno <> 0) AND coalesce(tape_errno, 0) = 0
GROUP BY ALL;

SELECT (SELECT n FROM failed_everywhere_sent) AS sent,
    coalesce(sum(n) FILTER (tape_errno = 0), 0)::BIGINT AS succeeded,
    arg_max(errno, {'n': n, 'last': -errno}) FILTER (tape_errno = 0) AS succeeded_errno,
    coalesce(sum(n) FILTER (tape_errno IS NULL), 0)::BIGINT AS unknown,
    arg_max(errno, {'n': n, 'last': -errno}) FILTER (tape_errno IS NULL) AS unknown_errno,
    min(first).session AS first_session, min(first).seq AS first_seq
FROM failed_everywhere_counts

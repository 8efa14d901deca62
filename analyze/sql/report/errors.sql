-- SPDX-License-Identifier: Apache-2.0
-- Which errors are new, gone, changed or the same? The run under test is compared with the reference, event by event.
--
-- With two runs, the reference is a, and b is under test. With one run, the reference is the tape. If the tape has no
-- error numbers, there are no rows.
--
-- The column `what` has these values:
-- - new: only the run under test fails.
-- - both: both sides fail, although the event is known to have succeeded on the tape.
-- - changed: both sides fail, with different errors.
-- - gone: only the reference fails.
-- - same: both sides fail with the same error, and the event failed on the tape or its outcome there is unknown.
--
-- Further columns:
-- - tape: the error number on the tape. 0 = known to have succeeded, NULL = unknown.
-- - after_set: how many of the events came after a SET of their session that failed only in the run under test.
-- - set_digest: the digest of the first such SET.
--
-- Error messages may contain values. Reports mask these values.
--
-- Input: the tables joined and failure (prelude.sql), and the variable errors_known (whether the tape has error
-- numbers).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/errors.sql
CREATE OR REPLACE TEMP TABLE errors_unset AS
SELECT round, session, clone, min(seq) AS seq, arg_min(digest, seq) AS digest
FROM joined
WHERE class = 'session' AND a_status = 'executed' AND CASE
    WHEN getvariable('b') IS NULL THEN a_errno <> 0 AND tape_errno = 0 ELSE b_status = 'executed' AND a_errno = 0 AND b_errno <> 0 END
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE errors_counts AS
SELECT CASE
        WHEN before = 0 THEN 'new'
        WHEN after = 0 THEN 'gone'
        WHEN tape = 0 THEN 'both'
        WHEN before = after THEN 'same'
        ELSE 'changed' END AS what,
    c.digest AS digest, before, after, tape,
    count(*) AS events,
    count(*) FILTER (c.seq > u.seq) AS after_set,
    arg_min(u.digest, {'session': c.session, 'seq': c.seq, 'round': c.round}) FILTER (c.seq > u.seq) AS set_digest,
    arg_min(b.error, {'session': c.session, 'seq': c.seq, 'clone': c.clone, 'round': c.round}) AS error,
    arg_min(a.error, {'session': c.session, 'seq': c.seq, 'clone': c.clone, 'round': c.round}) AS error_before,
    min({'session': c.session, 'seq': c.seq}) AS first
FROM (
    SELECT digest, a_errno AS before, b_errno AS after, tape_errno AS tape, session, seq, clone, round
    FROM joined
    WHERE a_status = 'executed' AND b_status = 'executed' AND (a_errno <> 0 OR b_errno <> 0)
    UNION ALL
    SELECT digest, tape_errno, a_errno, tape_errno, session, seq, clone, round
    FROM joined
    WHERE a_status = 'executed' AND getvariable('b') IS NULL AND getvariable('errors_known') AND tape_errno IS NOT NULL
        AND (tape_errno <> 0 OR a_errno <> 0)
) AS c
LEFT JOIN failure AS a ON a.run = 'a' AND getvariable('b') IS NOT NULL
    AND a.session = c.session AND a.seq = c.seq AND a.clone = c.clone AND a.round = c.round
LEFT JOIN failure AS b ON b.run = coalesce(getvariable('b'), 'a')
    AND b.session = c.session AND b.seq = c.seq AND b.clone = c.clone AND b.round = c.round
LEFT JOIN errors_unset AS u ON u.session = c.session AND u.clone = c.clone AND u.round = c.round
GROUP BY ALL;

SELECT what, digest, before, after, tape, events, error, error_before, first.session AS first_session, first.seq AS first_seq, after_set, set_digest
FROM errors_counts
ORDER BY list_position(['new', 'both', 'changed', 'gone', 'same'], what), events DESC, digest, before, after, tape

-- SPDX-License-Identifier: Apache-2.0
-- Which errors are new, gone, changed or the same, comparing the reference with the run under test, event by event?
-- With two runs the reference is a; with one it is the tape, where the tape knows error numbers at all (else no rows).
--   what   new: only b fails; both: both sides fail, and the tape knows that it succeeded; changed: both fail, each with another error;
--          gone: only a fails; same: both fail with the same error, and it failed on the tape, too, or nobody knows
--   tape   its error on the tape: 0 = known to have succeeded, NULL = unknown
--   after_set   how many of the events came after a SET of their session that failed in the run under test alone; set_digest: of the first one
-- Input: joined, failure (prelude.sql), variable errors_known (does the tape know errno). Messages may hold values: reports mask them.
-- By hand, with the variables of prelude.sql:
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

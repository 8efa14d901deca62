-- SPDX-License-Identifier: Apache-2.0
-- Which errors are new, gone, changed or the same, comparing the reference with the run under test, event by event?
-- With two runs the reference is a; with one it is the tape, where the tape knows error numbers at all (else no rows).
--   what   new: only b fails; both: both sides fail, and the tape knows that it succeeded; changed: both fail, each with another error;
--          gone: only a fails; same: both fail with the same error, and it failed on the tape, too, or nobody knows
--   tape   its error on the tape: 0 = known to have succeeded, NULL = unknown
-- Input: outcome, variable errors_known (does the tape know errno). Messages may hold values: reports mask them.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/errors.sql
WITH compared AS (
    SELECT b.digest, a.errno AS before, b.errno AS after, a.tape_errno AS tape, a.error AS error_before, b.error, b.session, b.seq
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round
    WHERE a.run = 'a' AND a.status = 'executed' AND b.status = 'executed'
    UNION ALL
    SELECT digest, tape_errno, errno, tape_errno, NULL, error, session, seq
    FROM outcome
    WHERE run = 'a' AND status = 'executed' AND getvariable('b') IS NULL AND getvariable('errors_known') AND tape_errno IS NOT NULL
)
SELECT what, digest, before, after, tape, count(*) AS events,
    arg_min(error, (session, seq)) AS error, arg_min(error_before, (session, seq)) AS error_before,
    arg_min(session, (session, seq)) AS first_session, arg_min(seq, (session, seq)) AS first_seq
FROM (
    SELECT *, CASE
        WHEN before = 0 THEN 'new'
        WHEN after = 0 THEN 'gone'
        WHEN tape = 0 THEN 'both'
        WHEN before = after THEN 'same'
        ELSE 'changed' END AS what
    FROM compared
    WHERE before <> 0 OR after <> 0
)
GROUP BY what, digest, before, after, tape
ORDER BY list_position(['new', 'both', 'changed', 'gone', 'same'], what), events DESC, digest, before, after, tape

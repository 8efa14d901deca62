-- SPDX-License-Identifier: Apache-2.0
-- Which errors are new, gone, changed or the same, comparing the reference with the run under test, event by event?
-- With two runs the reference is a; with one it is the tape, where the tape knows error numbers at all (else no rows).
-- Input: outcome, tape_event, variable errors_known (does the tape know errno). Messages may hold values: reports mask them.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/errors.sql
WITH compared AS (
    SELECT b.digest, a.errno AS before, b.errno AS after, a.error AS error_before, b.error, b.session, b.seq
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round
    WHERE a.run = 'a' AND a.status = 'executed' AND b.status = 'executed'
    UNION ALL
    SELECT o.digest, t.errno, o.errno, NULL, o.error, o.session, o.seq
    FROM outcome AS o
    JOIN tape_event AS t USING (session, seq)
    WHERE o.run = 'a' AND o.status = 'executed' AND getvariable('b') IS NULL AND getvariable('errors_known') AND t.errno IS NOT NULL
)
SELECT what, digest, before, after, count(*) AS events,
    arg_min(error, (session, seq)) AS error, arg_min(error_before, (session, seq)) AS error_before,
    arg_min(session, (session, seq)) AS first_session, arg_min(seq, (session, seq)) AS first_seq
FROM (
    SELECT *,
        CASE WHEN before = 0 THEN 'new' WHEN after = 0 THEN 'gone' WHEN before = after THEN 'same' ELSE 'changed' END AS what
    FROM compared
    WHERE before <> 0 OR after <> 0
)
GROUP BY what, digest, before, after
ORDER BY list_position(['new', 'changed', 'gone', 'same'], what), events DESC, digest

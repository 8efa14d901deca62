-- SPDX-License-Identifier: Apache-2.0
-- Which events were answered without an error in both a and b? They are joined once (prelude.sql), for all analyses that compare them.
-- matched_events: one row for each such event, in each round. With one run, it is compared with the tape, whose times were taken
-- elsewhere: a_ns is NULL there.
--   block        which of 40 equal parts of the tape's time it is in: neighbours share what the machine did then
--   rows_known, sums_known   whether both know how many rows were sent; whether both have checksums that can be compared
--   kind         how its result differs (results.sql), with more_sent, session, seq and start_ns; NULL where it does not, and of
--                commands without a statement (pings, closes): they have no result
-- paired_times: those of two runs, with a digest.
-- Input: joined (prelude.sql).
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
CREATE OR REPLACE TEMP VIEW matched_events AS
SELECT digest, round, CASE WHEN getvariable('b') IS NOT NULL THEN a_done_ns - a_sent_ns END AS a_ns,
    CASE WHEN getvariable('b') IS NULL THEN a_done_ns - a_sent_ns ELSE b_done_ns - b_sent_ns END AS b_ns, block_of(start_ns) AS block,
    rows_known, sums_known, kind, more_sent, session, seq, start_ns
FROM joined
WHERE matched;

CREATE OR REPLACE TEMP VIEW paired_times AS
SELECT digest, round, a_ns, b_ns, block FROM matched_events WHERE digest IS NOT NULL AND getvariable('b') IS NOT NULL;

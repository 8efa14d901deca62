-- SPDX-License-Identifier: Apache-2.0
-- Which events were answered without an error in both a and b? prelude.sql joins the events once, for all analyses that
-- compare them.
--
-- matched_events: one row for each such event, in each round. With only one run, that run is compared with the tape.
-- a_ns is NULL in this case, because the tape's times were measured in another place.
-- - block: the number of the block. A block is one of 40 equal parts of the tape's time. Events of one block share the
--   load of the machine at that time.
-- - rows_known: whether the number of sent rows is known on both sides.
-- - sums_known: whether both sides have checksums that can be compared.
-- - kind: how the results differ (results.sql). NULL if they are equal, and for commands without a statement (pings,
--   closes), which have no result.
-- - more_sent, session, seq, start_ns: details for `kind`.
--
-- paired_times: the matched events of two runs that have a digest.
--
-- Input: the table joined (prelude.sql).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
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

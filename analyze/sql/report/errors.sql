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
-- Input: the table error_changes.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/quantiles.sql
--   .read analyze/sql/report/errors.sql
SELECT CASE
        WHEN before = 0 THEN 'new'
        WHEN after = 0 THEN 'gone'
        WHEN tape = 0 THEN 'both'
        WHEN before = after THEN 'same'
        ELSE 'changed' END AS what,
    digest, before, after, tape, events, error, error_before, first.session AS first_session, first.seq AS first_seq, after_set, set_digest
FROM error_changes
ORDER BY list_position(['new', 'both', 'changed', 'gone', 'same'], what), events DESC, digest, before, after, tape

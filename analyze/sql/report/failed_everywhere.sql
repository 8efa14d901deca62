-- SPDX-License-Identifier: Apache-2.0
-- How many sent events failed on every side, without a known failure on the tape? With two runs, "every side" is both
-- runs. With one run, it means this run. The result has one row:
-- - sent: all sent events.
-- - succeeded: the failed events that are known to have succeeded on the tape.
-- - unknown: the failed events whose outcome on the tape is unknown.
-- - succeeded_errno, unknown_errno: the most frequent error number of each group.
-- - first_session, first_seq: the first failed event.
--
-- Input: the table failed_counts.
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
--   .read analyze/sql/report/failed_everywhere.sql
SELECT coalesce(sum(n), 0)::BIGINT AS sent,
    coalesce(sum(n) FILTER (tape_errno = 0), 0)::BIGINT AS succeeded,
    arg_max(errno, {'n': n, 'last': -errno}) FILTER (tape_errno = 0) AS succeeded_errno,
    coalesce(sum(n) FILTER (tape_errno IS NULL AND errno IS NOT NULL), 0)::BIGINT AS unknown,
    arg_max(errno, {'n': n, 'last': -errno}) FILTER (tape_errno IS NULL AND errno IS NOT NULL) AS unknown_errno,
    min(first).session AS first_session, min(first).seq AS first_seq
FROM failed_counts

-- SPDX-License-Identifier: Apache-2.0
-- When did each round of each run begin and end? The table spans has the first and last times of all its events, of the
-- events that are ok, and of the paired events.
--
-- Input: the view outcome (join.sql).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
CREATE OR REPLACE TABLE spans AS
SELECT run, round, min(first_start_ns) AS first_start_ns, max(last_start_ns) AS last_start_ns, min(first_ns) AS first_sent_ns, max(done_ns) AS last_done_ns,
    min(first_ns) FILTER (ok) AS first_ok_ns, max(last_ns) FILTER (ok) AS last_ok_ns,
    min(first_ns) FILTER (paired) AS first_paired_ns, max(last_ns) FILTER (paired) AS last_paired_ns
FROM (
    SELECT run, round, ok, paired, min(start_ns) AS first_start_ns, max(start_ns) AS last_start_ns, min(sent_ns) AS first_ns, max(sent_ns) AS last_ns, max(done_ns) AS done_ns
    FROM outcome
    GROUP BY ALL
) AS parts
GROUP BY ALL;

-- SPDX-License-Identifier: Apache-2.0
-- Which time do the runs cover, and what do their digests do? This file makes the table digest_texts and the view
-- table_names (the names of the tables of each digest, without schemas). It also sets variables for the files after it:
-- - first_ns, span_ns: the start of the first event that side a replayed, and the span of the tape's time.
-- - end_ns: just after the last answer.
--
-- Input: the table spans (spans.sql) and the view tape_digest.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
SET VARIABLE first_ns = (SELECT min(first_start_ns) FROM spans WHERE run = 'a');
SET VARIABLE span_ns = (SELECT max(last_start_ns) - min(first_start_ns) FROM spans WHERE run = 'a');
SET VARIABLE end_ns = (SELECT greatest(max(last_done_ns), 1) + 1 FROM spans);

CREATE OR REPLACE TEMP TABLE digest_texts AS
SELECT TRY_CAST(digest AS digest_name) AS digest, class, normalized, tables, actions, properties
FROM tape_digest
WHERE TRY_CAST(digest AS digest_name) IS NOT NULL;

CREATE OR REPLACE TEMP VIEW table_names AS
SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl FROM digest_texts;

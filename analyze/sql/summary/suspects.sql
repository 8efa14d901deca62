-- SPDX-License-Identifier: Apache-2.0
-- For which digests must the values of their statements be parsed? races.sql needs the values of the differing
-- statements and of the writes to their tables.
--
-- Input: the tables suspects_acts and suspects_limited (chosen.sql).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/suspects.sql
SELECT DISTINCT digest FROM suspects_acts WHERE digest IN (SELECT digest FROM suspects_tables WHERE alone)
UNION
SELECT DISTINCT digest FROM suspects_limited
ORDER BY digest

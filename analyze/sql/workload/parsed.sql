-- SPDX-License-Identifier: Apache-2.0
-- How many digests could be parsed, with their events and time? parsed; other: DDL, SHOW, COMMIT, ..., which have no columns by
-- role; failed: not understood, so that nothing is known of their columns.
-- Input: digest_parts (from the grammar), workload_digests.
-- By hand, with what `querytape inspect` makes before it:
--   CREATE TABLE digest_parts AS FROM (VALUES (1, 'parsed')) AS v(id, what);
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 1 AS events, 1 AS duration_ns;
--   .read analyze/sql/workload/parsed.sql
SELECT p.what, count(*) AS digests, sum(d.events)::BIGINT AS events, sum(d.duration_ns)::BIGINT AS duration_ns
FROM digest_parts AS p
JOIN workload_digests AS d USING (id)
WHERE p.what IN ('parsed', 'other', 'failed')
GROUP BY p.what
ORDER BY p.what DESC

-- SPDX-License-Identifier: Apache-2.0
-- Which digests could not be parsed, the most expensive first? The normalised text may help to find the reason.
--
-- Input: the tables digest_parts and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE digest_parts AS FROM (VALUES (1, 'failed')) AS v(id, what);
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 'd' AS digest, 'x' AS normalized, 1 AS events, 1 AS duration_ns;
--   .read analyze/sql/workload/not_parsed.sql
SELECT d.digest, d.normalized, d.events, d.duration_ns
FROM digest_parts AS p
JOIN workload_digests AS d USING (id)
WHERE p.what = 'failed'
ORDER BY d.duration_ns DESC NULLS LAST, d.events DESC, d.digest

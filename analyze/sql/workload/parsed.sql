-- SPDX-License-Identifier: Apache-2.0
-- How many digests could be parsed, with how many events and how much time?
--
-- - parsed: the digest could be parsed.
-- - other: DDL, SHOW, COMMIT and similar statements, which do not use columns in a role.
-- - failed: the digest could not be parsed, so its columns are unknown.
--
-- Input: the tables digest_parts (from the grammar) and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE digest_parts AS FROM (VALUES (1, 'parsed')) AS v(id, what);
--   CREATE TABLE workload_digests AS SELECT 1 AS id, 1 AS events, 1 AS duration_ns;
--   .read analyze/sql/workload/parsed.sql
SELECT p.what, count(*) AS digests, sum(d.events)::BIGINT AS events, sum(d.duration_ns)::BIGINT AS duration_ns
FROM digest_parts AS p
JOIN workload_digests AS d USING (id)
WHERE p.what IN ('parsed', 'other', 'failed')
GROUP BY p.what
ORDER BY p.what DESC

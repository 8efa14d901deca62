-- SPDX-License-Identifier: Apache-2.0
-- Which digests violate each rule, the most expensive first?
--
-- Input: the tables lint_findings and lint_digests, which texts.sql makes.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/lint/texts.sql
--   INSERT INTO lint_findings SELECT 'word', digest, events, duration_ns FROM lint_digests WHERE text LIKE '%select%';
--   .read analyze/sql/lint/findings.sql
SELECT f.rule, f.digest, f.events, f.duration_ns, d.normalized
FROM lint_findings AS f
JOIN lint_digests AS d USING (digest)
ORDER BY f.rule, f.duration_ns DESC NULLS LAST, f.events DESC, f.digest

-- SPDX-License-Identifier: Apache-2.0
-- Which statements are more or less frequent on the second tape than on the first? The result has one row for each
-- digest. Each row has the statements per hour and the mean duration on both tapes.
--
-- Input: the views tape_digests and other_digests, and the variables hours and other_hours (the lengths of the tapes).
--
-- Run by hand:
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   CREATE VIEW other_digests AS FROM 'later.tape/digests.parquet';
--   SET VARIABLE hours = 24; SET VARIABLE other_hours = 1;
--   .read analyze/sql/inspect/two_tapes.sql
SELECT coalesce(a.digest, b.digest) AS digest, coalesce(a.class, b.class) AS class, coalesce(a.normalized, b.normalized) AS normalized,
    coalesce(a.events, 0) AS events_a, coalesce(b.events, 0) AS events_b,
    coalesce(a.events, 0) / getvariable('hours') AS per_hour_a, coalesce(b.events, 0) / getvariable('other_hours') AS per_hour_b,
    a.duration_ns / nullif(a.events, 0) AS mean_a_ns, b.duration_ns / nullif(b.events, 0) AS mean_b_ns
FROM tape_digests AS a
FULL JOIN other_digests AS b USING (digest)
ORDER BY abs(coalesce(b.events, 0) / getvariable('other_hours') - coalesce(a.events, 0) / getvariable('hours')) DESC, digest

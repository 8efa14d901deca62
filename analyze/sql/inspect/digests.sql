-- SPDX-License-Identifier: Apache-2.0
-- Which digests take most of the time?
--
-- Input: the views tape_events and tape_digests.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/inspect/digests.sql
SELECT e.digest, any_value(d.class) AS class, any_value(d.normalized) AS normalized, count(*) AS events,
    sum(e.duration_ns)::BIGINT AS duration_ns,
    quantile_disc(e.duration_ns, 0.5) AS p50_ns, quantile_disc(e.duration_ns, 0.95) AS p95_ns, max(e.duration_ns) AS max_ns
FROM tape_events AS e
JOIN tape_digests AS d USING (digest)
GROUP BY e.digest
ORDER BY duration_ns DESC NULLS LAST, events DESC, e.digest

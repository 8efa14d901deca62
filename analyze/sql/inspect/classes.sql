-- SPDX-License-Identifier: Apache-2.0
-- What do the statements do: reads, writes, transactions, session settings, DDL, administration?
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/classes.sql
SELECT class, count(*) AS events, sum(duration_ns)::BIGINT AS duration_ns, count(DISTINCT digest) AS digests
FROM tape_events
WHERE class IS NOT NULL
GROUP BY class
ORDER BY events DESC, class

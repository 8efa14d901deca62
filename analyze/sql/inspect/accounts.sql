-- SPDX-License-Identifier: Apache-2.0
-- Which users sent the statements, and to which schemas?
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/accounts.sql
SELECT "user", db, count(*) AS events, count(DISTINCT session) AS sessions
FROM tape_events
GROUP BY ALL
ORDER BY events DESC, "user", db

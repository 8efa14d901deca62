-- SPDX-License-Identifier: Apache-2.0
-- Which errors did the server return, and how often?
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/errors.sql
SELECT errno, count(*) AS events
FROM tape_events
WHERE errno <> 0
GROUP BY errno
ORDER BY events DESC, errno
LIMIT 100

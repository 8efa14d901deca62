-- SPDX-License-Identifier: Apache-2.0
-- How many events have each flag? The result has one row for each bit that is set. schemas/names.toml lists the names
-- of the bits.
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/flags.sql
SELECT bit, count(*) AS events
FROM (SELECT flags, unnest(range(16)) AS bit FROM tape_events WHERE flags & 65535 <> 0)
WHERE flags >> bit & 1 = 1
GROUP BY bit
ORDER BY bit

-- SPDX-License-Identifier: Apache-2.0
-- How many events have each flag? A row for each bit that is set (schemas/names.toml has their names).
-- Input: tape_events. By hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/flags.sql
SELECT bit, count(*) AS events
FROM (SELECT flags, unnest(range(16)) AS bit FROM tape_events WHERE flags & 65535 <> 0)
WHERE flags >> bit & 1 = 1
GROUP BY bit
ORDER BY bit

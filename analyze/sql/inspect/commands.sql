-- SPDX-License-Identifier: Apache-2.0
-- Which client commands are on the tape? Input: tape_events.
-- By hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/commands.sql
SELECT command, count(*) AS events, count(statement) AS with_statement
FROM tape_events
GROUP BY command
ORDER BY events DESC, command

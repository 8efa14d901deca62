-- SPDX-License-Identifier: Apache-2.0
-- Which client commands are on the tape, how many of them with a statement, how many of no class of statements? The last and
-- the events of all classes (classes.sql) add up to all events. Input: tape_events.
-- By hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/commands.sql
SELECT command, count(*) AS events, count(statement) AS with_statement, count(*) FILTER (class IS NULL) AS without_class
FROM tape_events
GROUP BY command
ORDER BY events DESC, command

-- SPDX-License-Identifier: Apache-2.0
-- Which client commands does the tape contain? Each row shows how many events the command has, how many of these have a
-- statement, and how many have no statement class. The events without a class, plus the events counted by classes.sql,
-- are all events of the tape.
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/commands.sql
SELECT command, count(*) AS events, count(statement) AS with_statement, count(*) FILTER (class IS NULL) AS without_class
FROM tape_events
GROUP BY command
ORDER BY events DESC, command

-- SPDX-License-Identifier: Apache-2.0
-- How large are statements and answers? Statements are measured in bytes of text, and answers in rows sent and rows
-- changed.
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/sizes.sql
SELECT quantile_disc(octet_length(statement), [0.5, 0.95]) AS statement_bytes, max(octet_length(statement)) AS max_statement_bytes,
    quantile_disc(rows_sent, [0.5, 0.95]) AS rows_sent, max(rows_sent) AS max_rows_sent,
    quantile_disc(rows_affected, [0.5, 0.95]) FILTER (class = 'write') AS rows_affected,
    count(*) FILTER (class = 'read') AS reads, count(*) FILTER (class = 'write') AS writes
FROM tape_events

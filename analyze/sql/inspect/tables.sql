-- SPDX-License-Identifier: Apache-2.0
-- Which tables are read and written? Only tables that a statement names are counted.
--
-- Input: the view tape_digests, which has the number of events of each digest.
--
-- Run by hand:
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/inspect/tables.sql
WITH named AS (
    SELECT class, events, duration_ns, unnest(tables) AS name
    FROM tape_digests
)
SELECT name, sum(events) FILTER (class = 'read')::BIGINT AS reads, sum(events) FILTER (class = 'write')::BIGINT AS writes,
    sum(events) FILTER (class NOT IN ('read', 'write'))::BIGINT AS others, sum(duration_ns)::BIGINT AS duration_ns
FROM named
GROUP BY name
ORDER BY sum(events) DESC, name

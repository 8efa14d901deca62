-- SPDX-License-Identifier: Apache-2.0
-- How long do clients think between an answer and the next statement of their session?
--
-- The result counts the think times on a logarithmic scale in ns, with two steps per power of two. A statement that was
-- sent before the previous answer arrived is not counted. This happens with pipelining, or if times are known only to
-- the second.
--
-- Input: the view tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/think_times.sql
WITH thinking AS (
    SELECT e.start_ns - b.end_ns AS think_ns
    FROM (SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, start_ns FROM tape_events) AS e
    JOIN (SELECT session::UINTEGER AS session, (seq + 1)::UINTEGER AS seq, start_ns + coalesce(duration_ns, 0) AS end_ns FROM tape_events) AS b
        USING (session, seq)
)
SELECT floor(2 * log2(greatest(think_ns, 1)))::INTEGER AS height, count(*) AS n
FROM thinking
WHERE think_ns >= 0
GROUP BY ALL
ORDER BY height

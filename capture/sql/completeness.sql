-- SPDX-License-Identifier: Apache-2.0
-- Can this tape be the complete workload? If the log has a threshold, all values are above a minimum. If parts of the
-- log are missing, there are long silences.
--
-- Input: the view events (a tape's events). The result has one row:
-- - events: the number of events.
-- - shortest_ns: the shortest duration of a query.
-- - least_examined: the fewest rows that a read or write examined.
-- - readers: the number of reads and writes.
-- - mean_gap_ns: the mean time between two events.
-- - longest_gap_ns, longest_gap_from_ns: the longest silence, and its beginning.
-- - gaps: the number of silences that are longer than 30 s and longer than 200 mean gaps.
WITH seconds AS (
    SELECT start_ns // 1000000000 AS second, max(start_ns + coalesce(duration_ns, 0)) AS end_ns
    FROM events
    GROUP BY second
), gaps AS (
    SELECT
        (second * 1000000000) - max(end_ns) OVER (ORDER BY second ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns,
        max(end_ns) OVER (ORDER BY second ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ns
    FROM seconds
), totals AS (
    SELECT
        count(*) AS events,
        min(duration_ns) FILTER (command = 'query') AS shortest_ns,
        min(rows_examined) FILTER (class IN ('read', 'write') AND duration_ns IS NOT NULL) AS least_examined,
        count(*) FILTER (class IN ('read', 'write')) AS readers,
        (max(start_ns) - min(start_ns)) / greatest(count(*) - 1, 1) AS mean_gap_ns
    FROM events
)
SELECT
    events,
    shortest_ns,
    least_examined,
    readers,
    mean_gap_ns,
    (SELECT max(gap_ns) FROM gaps) AS longest_gap_ns,
    (SELECT arg_max(from_ns, (gap_ns, -from_ns)) FROM gaps) AS longest_gap_from_ns,
    (SELECT count(*) FROM gaps, totals AS t WHERE gap_ns > 30000000000 AND gap_ns > 200 * t.mean_gap_ns) AS gaps
FROM totals

-- SPDX-License-Identifier: Apache-2.0
-- Which writes outside of transactions ran at the same time as another such write? The result has the first
-- `most_writes` of them.
--
-- - adds: the statement only adds numbers to columns.
-- - from_ns, to_ns: the statement ran between these times. The times of one session do not overlap.
--
-- Input: the tables all_events, known_digests (commit_order.py) and row_writes (digest, adds), and the variables
-- precision_ns and most_writes.
--
-- Run by hand: `overlapping_writes.count_overlapping(con, plan)` makes the table single_writes from this file.
WITH single AS (
    SELECT e.session * 2147483648 + e.seq AS id, w.adds, e.start_ns - getvariable('precision_ns') AS start_ns,
        e.start_ns + coalesce(e.duration_ns, 0) AS end_ns, coalesce(max(e.start_ns + coalesce(e.duration_ns, 0)) OVER (
            PARTITION BY e.session ORDER BY e.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_ns
    FROM all_events AS e
    JOIN known_digests AS d ON e.digest_no = d.digest_no
    JOIN row_writes AS w ON d.digest = w.digest
    WHERE e.sent AND e.tx_first IS NULL
), timed AS (
    SELECT id, adds, greatest(start_ns, before_ns) AS from_ns, greatest(end_ns, before_ns) AS to_ns FROM single
)
SELECT *
FROM timed
WINDOW by_start AS (ORDER BY from_ns, id)
QUALIFY from_ns < max(to_ns) OVER (by_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) OR to_ns > lead(from_ns) OVER by_start
ORDER BY from_ns, id
LIMIT getvariable('most_writes')

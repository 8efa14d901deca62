-- SPDX-License-Identifier: Apache-2.0
-- Which writes outside of transactions ran at the same time as another such write? The result has the first
-- `most` of them.
--
-- - adds: the statement only adds numbers to columns.
-- - from_ns, to_ns: the statement ran between these times.
--
-- Input: the view order_events (order_events.sql), the tables known_digests and row_writes (digest, adds), and the
-- variables precision_ns and most_writes.
--
-- Run by hand: `overlapping_writes.count_overlapping(con, plan)` makes the table single_writes from this file.
WITH single AS (
    SELECT o.session * 2147483648 + o.seq AS id, w.adds, greatest(o.lo_ns, o.at_ns - getvariable('precision_ns')) AS from_ns, o.hi_ns AS to_ns
    FROM order_events AS o
    JOIN known_digests AS d ON o.digest = d.digest_no
    JOIN row_writes AS w ON d.digest = w.digest
    WHERE o.tx_first = -1
)
SELECT *
FROM single
WINDOW by_start AS (ORDER BY from_ns, id)
QUALIFY from_ns < max(to_ns) OVER (by_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) OR to_ns > lead(from_ns) OVER by_start
ORDER BY from_ns, id
LIMIT getvariable('most_writes')

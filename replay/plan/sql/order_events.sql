-- SPDX-License-Identifier: Apache-2.0
-- Between which times did each sent event run, and what does it do? The result has the events in the form that
-- native/sweep/stream.c reads. docs/order.md lists the rules.
--
-- If the log has only arrivals, a statement ran until the arrival of the session's next statement. Some servers log an
-- Execute only when it has ended. An Execute therefore began at the arrival of the session's previous statement.
--
-- Input: the tables all_events (commit_order.py), later_uses (order_later_uses.sql) and earlier_ends (locked_rows.py), and
-- these variables:
-- - precision_ns, overlap_ns
-- - long, last, waits: bits of facts
-- - times: the kind of times that the tape has (commit_order.py: both, ends, arrivals)
--
-- Run by hand: `commit_order.order_commits(con, plan, catalog)` makes the view order_events from this file.
WITH timed AS (
    SELECT *,
        CASE WHEN getvariable('times') <> 'arrivals' THEN start_ns
            WHEN command = 'execute' THEN coalesce(lag(start_ns) OVER by_seq, start_ns)
            ELSE start_ns END AS from_ns,
        CASE WHEN getvariable('times') = 'arrivals' THEN coalesce(lead(start_ns) OVER by_seq, start_ns)
            ELSE start_ns + coalesce(duration_ns, 0) END AS to_ns,
        getvariable('times') = 'arrivals' AND lead(start_ns) OVER by_seq IS NULL AS is_last
    FROM all_events
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq)
), behind AS (
    SELECT *, coalesce(max(to_ns) OVER (
        PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_ns
    FROM timed
    WHERE sent
)
SELECT session, seq, tape_ns, start_ns AS at_ns,
    CASE getvariable('times') WHEN 'arrivals' THEN from_ns WHEN 'ends' THEN before_ns
        ELSE greatest(from_ns - getvariable('precision_ns'), before_ns) END AS lo_ns,
    CASE WHEN ended_ns IS NOT NULL THEN ended_ns
        WHEN getvariable('times') = 'arrivals' THEN to_ns ELSE greatest(to_ns, before_ns) END AS hi_ns,
    coalesce(later_no, digest_no, -1)::BIGINT AS digest,
    coalesce(tx_first, -1) AS tx_first,
    coalesce(tx_end, -1) AS tx_end,
    facts
        + CASE WHEN getvariable('times') <> 'arrivals' AND to_ns - from_ns > getvariable('overlap_ns')
            AND facts & getvariable('waits') = 0 THEN getvariable('long') ELSE 0 END
        + CASE WHEN is_last THEN getvariable('last') ELSE 0 END AS facts
FROM behind LEFT JOIN later_uses USING (session, seq) LEFT JOIN earlier_ends USING (session, seq)

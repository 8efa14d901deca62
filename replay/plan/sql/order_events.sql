-- SPDX-License-Identifier: Apache-2.0
-- Between which moments did each event that is sent run, and what is it? The events of the sweep, as
-- native/sweep/stream.c reads them. docs/order.md has the rules.
-- Inputs: table all_events (commit_order.py); variables precision_ns, overlap_ns, long and last (bits of facts), and times:
-- what the tape knows of an event (commit_order.py: both, ends, arrivals).
-- By hand: `commit_order.order_commits(con, plan, catalog)` makes this the view order_events.
-- Of a log of arrivals a statement ran up to the arrival of its session's next, and an Execute, which some servers log
-- when it has ended, from that of the one before.
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
    CASE getvariable('times') WHEN 'arrivals' THEN to_ns ELSE greatest(to_ns, before_ns) END AS hi_ns,
    coalesce(digest_no, -1)::BIGINT AS digest,
    coalesce(tx_first, -1) AS tx_first,
    coalesce(tx_end, -1) AS tx_end,
    facts + CASE WHEN getvariable('times') <> 'arrivals' AND to_ns - from_ns > getvariable('overlap_ns')
        THEN getvariable('long') ELSE 0 END + CASE WHEN is_last THEN getvariable('last') ELSE 0 END AS facts
FROM behind

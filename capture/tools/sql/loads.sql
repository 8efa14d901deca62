-- SPDX-License-Identifier: Apache-2.0
-- What is the load of each session? It is the average of the session's share of the events and its share of the time.
-- Columns: session, events, busy_ns (ns), load (the loads of all sessions add up to 1).
--
-- Input: the view tape_events.
SELECT
    session,
    events,
    busy_ns,
    events / sum(events) OVER () / 2
    + coalesce(busy_ns / nullif(sum(busy_ns) OVER (), 0), events / sum(events) OVER ()) / 2 AS load
FROM (
    SELECT session, count(*) AS events, coalesce(sum(duration_ns), 0)::BIGINT AS busy_ns
    FROM tape_events
    GROUP BY session
)

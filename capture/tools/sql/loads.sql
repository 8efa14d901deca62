-- SPDX-License-Identifier: Apache-2.0
-- What is the load of each session: its share of the events and of the time that they took, in equal parts?
-- Input: view tape_events. session, events, busy_ns (ns), load (of 1).
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

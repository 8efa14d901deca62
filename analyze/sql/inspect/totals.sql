-- SPDX-License-Identifier: Apache-2.0
-- How much is on the tape, over which time, and at which rate?
--
-- Input: the views tape_events, tape_sessions and tape_digests.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_sessions AS FROM 'shop.tape/sessions.parquet';
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/inspect/totals.sql
SELECT
    (SELECT count(*) FROM tape_events) AS events,
    (SELECT count(*) FROM tape_sessions) AS sessions,
    (SELECT count(*) FROM tape_digests) AS digests,
    min(start_ns) AS first_ns,
    max(start_ns + coalesce(duration_ns, 0)) AS last_ns,
    count(*) / nullif((max(start_ns) - min(start_ns)) / 1e9, 0) AS per_second,
    quantile_disc(duration_ns, 0.5) AS p50_ns,
    quantile_disc(duration_ns, 0.95) AS p95_ns,
    quantile_disc(duration_ns, 0.99) AS p99_ns,
    max(duration_ns) AS max_ns,
    sum(duration_ns)::BIGINT AS busy_ns,
    count(*) FILTER (errno <> 0) AS errors,
    count(errno) AS errors_known,
    max(precision_ns) AS precision_ns,
    count(*) FILTER (flags & 4 <> 0) AS redacted,
    count(*) FILTER (flags & 8 <> 0) AS truncated
FROM tape_events

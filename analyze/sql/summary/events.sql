-- SPDX-License-Identifier: Apache-2.0
-- What is there in the work? This file counts the events of the runs into small tables (the summary).
--
-- All analyses of a report read only the tables of the summary. They can be merged, because every column is a key, a sum,
-- a minimum, a maximum, or the value of the first event:
-- - Sums of times are in ns. `logs` are sums of log_of (units of 2^-24).
-- - `bin` is a bin of a time or of a ratio. The relative width is 2^-10 for a digest, 1.5 % for a session or a moment of a
--   run, and 9 % for a digest in a block.
-- - `least` is the smallest value in a bin. A quantile is the `least` of its bin, so it is exact for few values.
-- - `first` or `..._at` is a key that orders events. The column before it has the value of the event with the least key.
--
-- Input: joined, outcome, failure (join.sql), spans (spans.sql), tape_event, every_outcome, run_session, the variable
-- tape_times (whether an analysis shows the durations on the tape), and the variables of prelude.sql.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql

-- The counts of each shape. A shape is a digest with the class, the user and the schema of its events. Properties of the
-- events are keys, because counting them apart takes longer.
CREATE OR REPLACE TABLE shape_parts AS
SELECT digest, class, "user", db, run, round, status = 'executed' AS is_executed, coalesce(errno <> 0, false) AS has_error, ok, done_ns IS NOT NULL AS is_done,
    count(*) AS n, sum(service_ns)::BIGINT AS service_ns, max(service_ns) AS longest_ns, max(response_ns) AS longest_response_ns,
    sum(rows_sent)::BIGINT AS rows_sent, sum(rows_affected)::BIGINT AS rows_affected
FROM outcome
GROUP BY ALL;

CREATE OR REPLACE TABLE service_bins AS
SELECT digest, class, "user", db, run, round, paired, bin_of(service_ns, 712) AS bin, count(*) AS n, min(service_ns) AS least
FROM outcome
WHERE ok
GROUP BY ALL;

CREATE OR REPLACE TABLE response_bins AS
SELECT digest, run, bin_of(response_ns, 712) AS bin, count(*) AS n, min(response_ns) AS least
FROM outcome
WHERE ok AND response_ns IS NOT NULL
GROUP BY ALL;

-- The durations on the tape.
CREATE OR REPLACE TABLE tape_bins AS
SELECT digest::digest_name AS digest, bin_of(duration_ns, 712) AS bin, count(*) AS n, min(duration_ns) AS least, sum(duration_ns)::BIGINT AS total_ns
FROM tape_event
WHERE getvariable('tape_times') AND digest IS NOT NULL AND duration_ns IS NOT NULL
GROUP BY ALL;

-- The ratios of the pairs (b / a), as FLOAT, and the differences of their times.
CREATE OR REPLACE TABLE ratio_bins AS
SELECT digest, floor(712 * log2(ratio))::INTEGER AS bin, count(*) AS n, min(ratio) AS least
FROM (
    SELECT digest, (greatest(b_done_ns - b_sent_ns, 1) / greatest(a_done_ns - a_sent_ns, 1))::FLOAT AS ratio
    FROM joined
    WHERE matched AND digest IS NOT NULL AND getvariable('b') IS NOT NULL
) AS pairs
GROUP BY ALL;

CREATE OR REPLACE TABLE pair_counts AS
SELECT digest, count(*) AS n, sum(more_ns)::BIGINT AS lost_ns,
    count(*) FILTER (more_ns > 0) AS longer, sum(more_ns) FILTER (more_ns > 0)::BIGINT AS longer_ns,
    count(*) FILTER (more_ns < 0) AS shorter, sum(-more_ns) FILTER (more_ns < 0)::BIGINT AS shorter_ns
FROM (
    SELECT digest, b_done_ns - b_sent_ns - (a_done_ns - a_sent_ns) AS more_ns
    FROM joined
    WHERE matched AND digest IS NOT NULL AND getvariable('b') IS NOT NULL
) AS pairs
GROUP BY ALL;

-- The times in each block of the tape's time.
CREATE OR REPLACE TABLE block_parts AS
SELECT digest, run, round, block_of(start_ns) AS block, paired, count(*) AS n, sum(log)::BIGINT AS logs, min(sent_ns) AS first_ns, max(done_ns) AS last_ns
FROM outcome
WHERE ok
GROUP BY ALL;

CREATE OR REPLACE TABLE block_bins AS
SELECT digest, run, round, block_of(start_ns) AS block, paired, bin_of(service_ns, 8) AS bin, count(*) AS n, min(service_ns) AS least
FROM outcome
WHERE ok AND digest IS NOT NULL
GROUP BY ALL;

-- The times in each twentieth of a run, by the time of sending.
CREATE OR REPLACE TABLE part_counts AS
SELECT o.run AS run, o.round AS round, o.digest AS digest,
    least(19, 20 * (o.sent_ns - s.first_ok_ns) // greatest(s.last_ok_ns - s.first_ok_ns, 1))::TINYINT AS part,
    count(*) AS n, sum(o.log)::BIGINT AS logs
FROM outcome AS o
JOIN spans AS s ON o.run = s.run AND o.round = s.round
WHERE o.ok AND o.digest IS NOT NULL
GROUP BY ALL;

-- The answers in each bin of bin_ns nanoseconds.
CREATE OR REPLACE TABLE time_bins AS
SELECT run, round, (done_ns // getvariable('bin_ns'))::INTEGER AS tick, ok, coalesce(errno <> 0, false) AS has_error, bin_of(service_ns, 48) AS bin,
    count(*) AS n, min(service_ns) AS least, sum(service_ns)::BIGINT AS service_ns
FROM outcome
WHERE done_ns IS NOT NULL
GROUP BY ALL;

-- The heat map of the first round: 120 parts of the time, and two steps per power of two of the service time.
CREATE OR REPLACE TABLE heat_counts AS
SELECT run, (120 * done_ns // getvariable('end_ns'))::TINYINT AS part, bin_of(service_ns, 2)::TINYINT AS height, count(*) AS n
FROM outcome
WHERE done_ns IS NOT NULL AND done_ns >= 0 AND round = 1
GROUP BY ALL;

-- The answers in each tenth of a second.
CREATE OR REPLACE TABLE tenth_counts AS
SELECT run, round, (done_ns // 100000000)::INTEGER AS tenth, count(*) AS n, max(service_ns) AS longest_ns, count(*) FILTER (errno <> 0) AS errors
FROM outcome
WHERE done_ns IS NOT NULL AND done_ns >= 0
GROUP BY ALL;

-- The statements that were sent but not answered in each tenth of a second. Only statements that took at least 0.1 s
-- count.
CREATE OR REPLACE TABLE wait_counts AS
SELECT run, round, tenth, digest, count(*) AS n, sum(service_ns)::BIGINT AS service_ns
FROM (
    SELECT run, round, unnest(range(greatest(sent_ns, 0) // 100000000, done_ns // 100000000 + 1))::INTEGER AS tenth, digest, service_ns
    FROM outcome
    WHERE done_ns IS NOT NULL AND service_ns >= 100000000 AND service_ns < 600000000000 AND sent_ns IS NOT NULL
) AS w
GROUP BY ALL;

CREATE OR REPLACE TABLE session_counts AS
SELECT session, run, count(*) AS n, count(*) FILTER (errno <> 0) AS errors, sum(service_ns) FILTER (ok)::BIGINT AS service_ns
FROM outcome
WHERE status = 'executed'
GROUP BY ALL;

-- What happened to each event of the tape. An executed event has no reason.
CREATE OR REPLACE TABLE account_counts AS
SELECT run::VARCHAR AS run, 'executed' AS status, NULL::VARCHAR AS reason, sum(n)::BIGINT AS events, sum(service_ns)::BIGINT AS service_ns
FROM shape_parts
WHERE is_executed
GROUP BY run
UNION ALL
SELECT run, status, reason, count(*), sum(done_ns - sent_ns)::BIGINT
FROM every_outcome
WHERE status <> 'executed'
GROUP BY ALL;

-- How late the events were sent, by cause (lateness.sql). The cause `all` also has the events that were not late.
CREATE OR REPLACE TEMP VIEW late_parts AS
SELECT run, round, session, seq, coalesce(free_ns > due_ns OR queued_ns > due_ns, false) AS several,
    greatest(0, sent_ns - due_ns) AS late,
    least(greatest(0, free_ns - due_ns), coalesce(order_ns, 0)) AS ordered,
    greatest(0, free_ns - due_ns) - ordered AS held,
    greatest(0, queued_ns - greatest(due_ns, free_ns)) AS feeding,
    greatest(0, sent_ns - greatest(due_ns, free_ns, queued_ns)) AS tool
FROM every_outcome
WHERE status = 'executed' AND due_ns IS NOT NULL AND sent_ns IS NOT NULL;

-- The tool alone causes the lateness of most events. Only the other events have several parts.
CREATE OR REPLACE TEMP TABLE late_rows AS
FROM late_parts WHERE several;

CREATE OR REPLACE TABLE late_bins AS
WITH firsts AS (
    SELECT run, round, session, min(seq) AS first_seq FROM late_parts WHERE session IN (SELECT session FROM late_rows WHERE held > 0) GROUP BY ALL
), causes AS (
    SELECT run, late AS ns, several, 'all' AS cause FROM late_parts
    UNION ALL SELECT run, tool, true, 'tool' FROM late_rows WHERE tool > 0
    UNION ALL SELECT run, ordered, true, 'order' FROM late_rows WHERE ordered > 0
    UNION ALL SELECT run, feeding, true, 'feeder' FROM late_rows WHERE feeding > 0
    UNION ALL SELECT l.run, l.held, true, if(l.seq = f.first_seq, 'connect', 'session')
    FROM late_rows AS l
    JOIN firsts AS f USING (run, round, session)
    WHERE l.held > 0
)
SELECT run, cause, several, if(ns = 0, -1, bin_of(ns, 712)) AS bin,
    count(*) AS n, min(ns) AS least, max(ns) AS longest_ns, sum(ns)::BIGINT AS total_ns, count(*) FILTER (ns > 1000000) AS over_1ms
FROM causes
GROUP BY ALL;

-- Sessions that failed to connect or lost their connection in the run under test, but not in the reference.
CREATE OR REPLACE TABLE lost_counts AS
WITH lost AS (
    SELECT run, round, session, clone, errno, error
    FROM run_session AS s
    WHERE run = coalesce(getvariable('b'), 'a') AND errno <> 0 AND NOT EXISTS (
        FROM run_session AS r
        WHERE r.run = 'a' AND s.run <> 'a' AND r.errno <> 0 AND (r.round, r.session, r.clone) = (s.round, s.session, s.clone))
), counted AS (
    SELECT run, round, session, clone, count(*) AS n
    FROM every_outcome
    WHERE status = 'not_sent' AND reason IN ('connect_failed', 'connection_lost', 'transaction_lost')
    GROUP BY ALL
)
SELECT errno, min(error) AS error, count(*) AS sessions, sum(n)::BIGINT AS not_sent
FROM lost
JOIN counted USING (run, round, session, clone)
GROUP BY errno;

CREATE OR REPLACE TABLE error_counts AS
SELECT o.run AS run, o.errno AS errno, o.digest AS digest,
    count(*) AS events,
    arg_min(f.error, event_key(o.session, o.seq, o.clone, o.round)) AS error, min(event_key(o.session, o.seq, o.clone, o.round)) FILTER (f.error IS NOT NULL) AS error_at
FROM outcome AS o
LEFT JOIN failure AS f USING (run, round, session, seq, clone)
WHERE o.status = 'executed' AND o.errno <> 0
GROUP BY ALL;

-- The first SET of each session that failed only in the run under test.
CREATE OR REPLACE TEMP TABLE unset AS
SELECT round, session, clone, min(seq) AS seq, arg_min(digest, seq) AS digest
FROM joined
WHERE class = 'session' AND a_status = 'executed' AND CASE
    WHEN getvariable('b') IS NULL THEN a_errno <> 0 AND tape_errno = 0 ELSE b_status = 'executed' AND a_errno = 0 AND b_errno <> 0 END
GROUP BY ALL;

-- Errors of the reference (before) and of the run under test (after), see errors.sql.
CREATE OR REPLACE TABLE error_changes AS
SELECT c.digest AS digest, before, after, tape,
    count(*) AS events,
    count(*) FILTER (c.seq > u.seq) AS after_set,
    arg_min(u.digest, event_key(c.session, c.seq, c.clone, c.round)) FILTER (c.seq > u.seq) AS set_digest, min(event_key(c.session, c.seq, c.clone, c.round)) FILTER (c.seq > u.seq) AS set_at,
    arg_min(b.error, event_key(c.session, c.seq, c.clone, c.round)) AS error, min(event_key(c.session, c.seq, c.clone, c.round)) FILTER (b.error IS NOT NULL) AS error_at,
    arg_min(a.error, event_key(c.session, c.seq, c.clone, c.round)) AS error_before, min(event_key(c.session, c.seq, c.clone, c.round)) FILTER (a.error IS NOT NULL) AS error_before_at,
    min(event_key(c.session, c.seq, c.clone, c.round)) AS first
FROM (
    SELECT digest, a_errno AS before, b_errno AS after, tape_errno AS tape, session, seq, clone, round
    FROM joined
    WHERE a_status = 'executed' AND b_status = 'executed' AND (a_errno <> 0 OR b_errno <> 0)
    UNION ALL
    SELECT digest, tape_errno, a_errno, tape_errno, session, seq, clone, round
    FROM joined
    WHERE a_status = 'executed' AND getvariable('b') IS NULL AND getvariable('errors_known') AND tape_errno IS NOT NULL
        AND (tape_errno <> 0 OR a_errno <> 0)
) AS c
LEFT JOIN failure AS a ON a.run = 'a' AND getvariable('b') IS NOT NULL
    AND a.session = c.session AND a.seq = c.seq AND a.clone = c.clone AND a.round = c.round
LEFT JOIN failure AS b ON b.run = coalesce(getvariable('b'), 'a')
    AND b.session = c.session AND b.seq = c.seq AND b.clone = c.clone AND b.round = c.round
LEFT JOIN unset AS u ON u.session = c.session AND u.clone = c.clone AND u.round = c.round
GROUP BY ALL;

-- Events that were sent on every side, and those that failed on every side without a known failure on the tape. The row
-- without an error number has the events that did not fail so.
CREATE OR REPLACE TABLE failed_counts AS
SELECT if(failed, a_errno, NULL) AS errno, if(failed, tape_errno, NULL) AS tape_errno, count(*) AS n,
    min({'session': session, 'seq': seq}) FILTER (failed) AS first
FROM (
    SELECT a_errno, tape_errno, session, seq,
        coalesce(a_errno <> 0 AND (getvariable('b') IS NULL OR b_errno <> 0) AND coalesce(tape_errno, 0) = 0, false) AS failed
    FROM joined
    WHERE a_status = 'executed' AND (getvariable('b') IS NULL OR b_status = 'executed')
) AS sent
GROUP BY ALL;

-- Events whose results could be compared, and those whose results differ (without differing warnings).
CREATE OR REPLACE TABLE matched_counts AS
SELECT digest, count(*) AS events, count(*) FILTER (kind IS NOT NULL AND kind <> 'warnings') AS differing,
    count(*) FILTER (rows_known) AS rows_known, count(*) FILTER (sums_known) AS sums_known
FROM joined
WHERE matched
GROUP BY ALL;

-- Writes that only one side executed, or that changed different rows on the two sides, with the session and the error
-- of the first such write.
CREATE OR REPLACE TABLE spoiled_writes AS
SELECT round, digest, spoiled, min(start_ns) AS since,
    arg_min(own, key) AS own, min(key) AS own_at
FROM (
    SELECT round, digest, start_ns, {'start_ns': start_ns, 'session': session, 'clone': clone, 'seq': seq} AS key,
        {'session': session, 'clone': clone, 'errno': new_of(a_errno, b_errno)} AS own, CASE
            WHEN matched AND kind = 'affected' THEN 'changed other rows'
            WHEN class NOT IN ('write', 'ddl') THEN NULL
            WHEN getvariable('b') IS NULL THEN CASE
                WHEN coalesce(tape_errno, 0) <> 0 THEN NULL WHEN a_status <> 'executed' THEN 'was not sent' WHEN a_errno <> 0 THEN 'failed' END
            WHEN coalesce(a_status = 'executed', false) <> coalesce(b_status = 'executed', false) THEN 'was not sent'
            WHEN a_status = 'executed' AND (a_errno <> 0) <> (b_errno <> 0) THEN 'failed' END AS spoiled
    FROM joined
    WHERE digest IS NOT NULL
) AS each
WHERE spoiled IS NOT NULL
GROUP BY ALL;

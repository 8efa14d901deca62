-- SPDX-License-Identifier: Apache-2.0
-- Which events need a closer look? This file collects rows of few digests, sessions and tables.
--
-- The tables of events.sql decide which ones.
-- - top_sessions, session_bins: the 50 sessions with the most time, and their service times.
-- - few_rows: the pairs of digests with fewer than 30 pairs.
-- - result_counts: the differing events for each digest and kind (results.sql).
-- - suspects_acts: differences that a race may explain, and the writes to their tables, with their times on both sides.
-- - suspects_ends: the ends of the transactions of these writes.
-- - suspects_limited: the differences of statements with a LIMIT, and the number of rows sent.
--
-- Races: a digest is examined if its results differ in some executions but not in all. A digest with fewer than 3
-- executions is also examined. Only writes of other sessions to rows that the statement could touch explain a
-- difference. There are three cases:
-- - The write overlaps with the statement on one side.
-- - The write came before the statement on only one side.
-- - The statement follows two writes that raced with each other.
--
-- Input: the table joined, the tables of events.sql, the table digest_texts, and the variable writes_race (whether
-- writes were sent without --order commit).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
CREATE OR REPLACE TABLE top_sessions AS
SELECT session FROM session_counts GROUP BY session ORDER BY max(service_ns) DESC NULLS LAST, session::VARCHAR LIMIT 50;

CREATE OR REPLACE TABLE session_bins AS
SELECT session, run, bin_of(service_ns, 48) AS bin, count(*) AS n, min(service_ns) AS least
FROM outcome
WHERE ok AND session IN (FROM top_sessions)
GROUP BY ALL;

CREATE OR REPLACE TABLE few_rows AS
SELECT digest, round, block_of(start_ns) AS block, a_sent_ns, a_done_ns, b_sent_ns, b_done_ns
FROM joined
WHERE matched AND getvariable('b') IS NOT NULL AND digest IN (SELECT digest FROM pair_counts WHERE n < 30);

-- True for an error that ends the connection. A reconnect does not restore the session's variables, temporary tables
-- and locks.
CREATE OR REPLACE TEMP MACRO loses_session(errno) AS coalesce(errno IN (1053, 1927, 2006, 2013, 4031), false);

-- The first SET of each session that only one side accepted, or the first loss of its connection.
CREATE OR REPLACE TEMP TABLE session_unset AS
SELECT round, session, min(seq) AS seq, arg_min(own, {'seq': seq, 'clone': clone}) AS first
FROM (
    SELECT round, session, clone, seq, {
            'digest': digest, 'errno': new_of(a_errno, b_errno), 'lost': loses_session(a_errno) OR loses_session(b_errno)} AS own
    FROM joined
    WHERE (class = 'session' OR loses_session(a_errno) OR loses_session(b_errno)) AND a_status = 'executed' AND CASE
        WHEN getvariable('b') IS NULL THEN a_errno <> 0 AND tape_errno = 0 ELSE b_status = 'executed' AND (a_errno <> 0) <> (b_errno <> 0) END
) AS each
GROUP BY ALL;

CREATE OR REPLACE TABLE result_counts AS
SELECT m.kind AS kind, m.digest AS digest,
    count(*) AS events,
    count(*) FILTER (m.start_ns > s.since) AS after_write,
    count(*) FILTER (m.start_ns > s.lost_since) AS after_lost,
    arg_min(s.lost, {'since': s.lost_since, 'round': s.round}) AS lost, min({'since': s.lost_since, 'round': s.round}) FILTER (s.lost IS NOT NULL) AS lost_at,
    arg_min(s.root, {'since': s.lost_since, 'round': s.round}) FILTER (s.root IS NOT NULL) AS root, min({'since': s.lost_since, 'round': s.round}) FILTER (s.root IS NOT NULL) AS root_at,
    count(*) FILTER (m.seq > u.seq) AS after_set,
    arg_min(u.first, {'session': m.session, 'seq': m.seq, 'round': u.round}) FILTER (m.seq > u.seq) AS set_root,
    min({'session': m.session, 'seq': m.seq, 'round': u.round}) FILTER (m.seq > u.seq) AS set_root_at,
    sum(m.more_sent)::BIGINT AS more_sent,
    min({'session': m.session, 'seq': m.seq}) AS first
FROM joined AS m
LEFT JOIN (
    SELECT n.digest, s.round, min(s.since) AS since, min(s.since) FILTER (s.spoiled <> 'changed other rows') AS lost_since,
        min_by(s.spoiled, (s.since, s.spoiled)) FILTER (s.spoiled <> 'changed other rows') AS lost,
        min_by({'digest': s.digest, 'round': s.round, 'session': s.own.session, 'clone': s.own.clone, 'errno': s.own.errno},
            (s.since, s.spoiled, s.digest)) FILTER (s.spoiled <> 'changed other rows') AS root
    FROM table_names AS n
    JOIN table_names AS w ON n.tbl = w.tbl
    JOIN spoiled_writes AS s ON s.digest = w.digest
    GROUP BY ALL
) AS s ON m.digest = s.digest AND m.round = s.round
LEFT JOIN session_unset AS u ON m.session = u.session AND m.round = u.round
WHERE m.matched AND m.kind IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW suspects_tables AS
SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl, len(tables) = 1 AS alone FROM digest_texts;

CREATE OR REPLACE TEMP VIEW suspects_raced AS
SELECT digest, tbl
FROM suspects_tables
WHERE getvariable('writes_race') AND digest IN (SELECT digest FROM matched_counts WHERE differing > 0 AND (differing < events OR events < 3))
    AND tbl IN (SELECT w.tbl FROM suspects_tables AS w JOIN digest_texts AS t ON w.digest = t.digest WHERE t.class = 'write');

-- Returns a time of the reference. If the reference is the tape, this is the start of the event, because the tape
-- provides no other usable time.
CREATE OR REPLACE TEMP MACRO old_of(began, a) AS CASE WHEN getvariable('b') IS NULL THEN began ELSE a END;

CREATE OR REPLACE TABLE suspects_acts AS
SELECT digest, round, session, clone, seq, class = 'write' AS writes, matched AND kind IS NOT NULL AND kind <> 'warnings' AS differs, kind,
    old_of(start_ns, a_sent_ns) AS old_sent, old_of(start_ns, coalesce(a_done_ns, a_sent_ns)) AS old_done,
    new_of(a_sent_ns, b_sent_ns) AS new_sent, new_of(coalesce(a_done_ns, a_sent_ns), coalesce(b_done_ns, b_sent_ns)) AS new_done
FROM joined
WHERE (digest IN (SELECT digest FROM suspects_raced) AND matched AND kind IS NOT NULL AND kind <> 'warnings')
    OR (class = 'write' AND digest IN (SELECT digest FROM suspects_tables WHERE tbl IN (SELECT tbl FROM suspects_raced)));

CREATE OR REPLACE TABLE suspects_ends AS
SELECT round, session, clone, seq, old_of(start_ns, a_done_ns) AS old_done, new_of(a_done_ns, b_done_ns) AS new_done
FROM joined
WHERE class = 'transaction' AND (round, session, clone) IN (SELECT (round, session, clone) FROM suspects_acts WHERE writes);

CREATE OR REPLACE TABLE suspects_limited AS
SELECT kind, digest, session, seq, coalesce(b_rows_sent, a_rows_sent) AS sent
FROM joined
WHERE matched AND kind IN ('data', 'order') AND digest IN (SELECT digest FROM digest_texts WHERE has_property(properties, 'limit'));

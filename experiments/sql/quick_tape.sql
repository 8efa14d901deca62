-- SPDX-License-Identifier: Apache-2.0
-- What is on the tape that quick mode sends? Two tables are made.
--
-- quick_events contains the samples, lap after lap. Each sample follows its PREPARE and the settings of its session.
-- These settings are the last SET of each kind before the sample, after the last reset of the session. Columns:
-- - lap, grp, number (of the sample)
-- - kind: 0 = a setting, 1 = a PREPARE, 2 = a sample
-- - session, seq: the place on the original tape
--
-- In a lap, samples with the same login, settings and weight share a session. They run serially, and need few
-- connections. All laps of the light samples come before the laps of the heavier samples. On a busy machine, a thread
-- that has just used much CPU waits longer for the CPU.
--
-- quick_sessions contains the login of each session, as far as the tape has it.
--
-- Input: the macros of schemas/event_macros.sql and schemas/names.sql; the views tape_events and tape_sessions; the
-- table quick_samples; the variables laps and no_setting_flags. Columns of quick_samples: number, session, seq, laps
-- (the number of laps with the sample), weight (heavy samples last).
--
-- Run by hand: as quick_digests.sql
CREATE OR REPLACE TEMP TABLE quick_settings AS
WITH settings AS (
    SELECT e.session, e.seq, e.statement, lead(e.seq) OVER (PARTITION BY e.session, e.digest ORDER BY e.seq) AS until
    FROM tape_events AS e
    SEMI JOIN quick_samples AS s ON e.session = s.session
    WHERE e.class = 'session' AND e.command IN ('query', 'execute') AND e.stmt IS NULL AND e.statement IS NOT NULL
        AND danger_of(e.flags) = 'none' AND e.flags & getvariable('no_setting_flags') = 0
        AND NOT has_action(e.actions, 'autocommit_off') AND NOT has_action(e.actions, 'autocommit_on') AND coalesce(e.errno, 0) = 0
), resets AS (
    SELECT s.number, max(e.seq) AS seq
    FROM quick_samples AS s
    JOIN tape_events AS e ON e.session = s.session AND e.seq < s.seq AND e.command IN ('reset_connection', 'change_user')
    GROUP BY s.number
)
SELECT s.number, x.session, x.seq, x.statement
FROM quick_samples AS s
JOIN settings AS x ON x.session = s.session AND x.seq < s.seq AND coalesce(x.until > s.seq, true)
LEFT JOIN resets AS r ON s.number = r.number
WHERE x.seq > coalesce(r.seq, 0);

CREATE OR REPLACE TEMP TABLE quick_groups AS
WITH keys AS (
    SELECT s.number, s.session, s.laps, s.weight, e.stmt,
        concat_ws('|', coalesce(t.charset, ''), coalesce(t.client_flags::VARCHAR, ''), coalesce(e."user", t."user", ''),
            (SELECT string_agg(hex(x.statement), ',' ORDER BY x.seq) FROM quick_settings AS x WHERE x.number = s.number)) AS login
    FROM quick_samples AS s
    JOIN tape_events AS e ON e.session = s.session AND e.seq = s.seq
    LEFT JOIN tape_sessions AS t ON t.session = s.session
)
SELECT *, dense_rank() OVER (ORDER BY weight, login) AS grp FROM keys;

CREATE OR REPLACE TEMP TABLE quick_events AS
WITH turns AS (
    SELECT g.*, l.lap
    FROM quick_groups AS g
    CROSS JOIN (SELECT range AS lap FROM range(getvariable('laps')::BIGINT)) AS l
    WHERE (l.lap + 1) * g.laps // getvariable('laps') > l.lap * g.laps // getvariable('laps')
), firsts AS (
    SELECT lap, weight, grp, min(number) AS number FROM turns GROUP BY ALL
), prepares AS (
    SELECT t.lap, t.weight, t.grp, t.number, t.session, max(e.seq) AS seq
    FROM turns AS t
    JOIN quick_samples AS s USING (number)
    JOIN tape_events AS e ON e.session = t.session AND e.stmt = t.stmt AND e.command = 'prepare' AND e.seq < s.seq
    WHERE t.stmt IS NOT NULL
    GROUP BY t.lap, t.weight, t.grp, t.number, t.session
)
SELECT f.lap, f.weight, f.grp, 0 AS kind, x.number, x.session, x.seq FROM firsts AS f JOIN quick_settings AS x USING (number)
UNION ALL
SELECT lap, weight, grp, 1, number, session, seq FROM prepares
UNION ALL
SELECT t.lap, t.weight, t.grp, 2, t.number, s.session, s.seq FROM turns AS t JOIN quick_samples AS s USING (number);

CREATE OR REPLACE TEMP TABLE quick_placed AS
SELECT *, lap * (SELECT max(grp) FROM quick_groups) + grp AS new_session,
    row_number() OVER (PARTITION BY lap, grp ORDER BY kind, CASE WHEN kind = 0 THEN seq ELSE number END) AS new_seq,
    row_number() OVER (ORDER BY weight, lap, grp, kind, CASE WHEN kind = 0 THEN seq ELSE number END) AS place
FROM quick_events;

CREATE OR REPLACE TEMP TABLE quick_sessions AS
SELECT p.new_session AS session, t.client_flags, t.charset
FROM (SELECT new_session, min_by(session, place) AS session FROM quick_placed GROUP BY new_session) AS p
JOIN tape_sessions AS t USING (session);

-- SPDX-License-Identifier: Apache-2.0
-- Which events have different results, although both sides answered them without an error? The result has one row for
-- each digest and kind:
-- - rows: the number of sent rows differs.
-- - affected: the number of changed rows differs.
-- - data: the number of rows is equal, but their data differs (checksums).
-- - order: the rows are equal, but their order differs.
-- - warnings: the number of warnings differs.
--
-- `known` and `reason` are codes of schemas/names.toml (result_reasons).
--
-- known: an excuse, which means that two correct servers may differ in this way. NULL = no excuse.
--
-- reason: the excuse, or else the certain or possible explanation. The candidates are:
-- - On one side, a write to one of the tables was not sent, failed or changed different rows. The write came before all
--   of these events.
-- - On one side, a SET of the session failed or the session lost its connection.
-- - A property of the statement, as listed in results_excuses.
-- - Writes of other sessions, only if nothing else explains the difference. races_found contains the evidence.
--
-- limits_found shows whether a LIMIT was reached. summary/races.sql makes limits_found and races_found.
--
-- - after_write: how many of the events came after such a write.
-- - root_errno: the error in the run under test that caused the differences.
-- - root_digest: the digest of the SET or write with this error, or of the first write that changed different rows
--   (which has no error). NULL if the write was not sent because its session was lost or could not connect.
--
-- With two runs, the reference is a. With one run, the reference is the tape, as far as it has the values.
--
-- Input: the tables result_counts, spoiled_writes, digest_texts, and the view run_session; races_found and limits_found
-- (summary/races.sql).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   CREATE TABLE statement_values AS
--       FROM (SELECT 0 AS id, 'column' AS what, 't' AS tbl, 'id' AS name, 'set' AS role, '5' AS value);
--   .read analyze/sql/summary/races.sql
--   .read analyze/sql/report/results.sql

-- The meaning of a statement's property for each kind of difference:
-- - excuse: two correct servers may differ in this way.
-- - reason: the property explains the difference, but the difference counts.
-- - perhaps: the property may be the cause, but there is no proof.
-- - NULL: the property cannot cause the difference.
--
-- `where cut` applies only if all events reached their LIMIT on both sides. If the value of the LIMIT is unknown,
-- `excuse` becomes `perhaps`. A checksum covers whole rows. NOW() next to columns of a table may therefore explain
-- different data, but so may a different value in a column. findings/causes.py withdraws the LIMIT excuse if the LIMIT
-- did not have to choose among rows.
CREATE OR REPLACE TEMP VIEW results_excuses AS
SELECT * FROM (VALUES
    -- property                       rows       affected   data                order               warnings
    ('asks_time',                    NULL,      NULL,      'excuse',           NULL,               NULL),
    ('chance',                       NULL,      NULL,      'excuse',           NULL,               NULL),
    ('asks_session',                 NULL,      NULL,      'excuse',           NULL,               NULL),
    ('asks_server',                  'excuse',  NULL,      'excuse',           'excuse',           'excuse'),
    ('sorted_by_chance',             NULL,      NULL,      'excuse where cut', 'excuse',           NULL),
    ('limit_unsorted',               NULL,      NULL,      'excuse where cut', 'excuse where cut', NULL),
    ('perhaps_time_with_columns',    NULL,      NULL,      'perhaps',          NULL,               NULL),
    ('perhaps_chance_with_columns',  NULL,      NULL,      'perhaps',          NULL,               NULL),
    ('perhaps_session_with_columns', NULL,      NULL,      'perhaps',          NULL,               NULL),
    ('perhaps_chance_in_condition',  'perhaps', 'perhaps', 'excuse',           'excuse',           'perhaps'),
    ('perhaps_time_in_condition',    'perhaps', 'perhaps', 'perhaps',          'perhaps',          'perhaps'),
    ('perhaps_session_in_condition', 'perhaps', 'perhaps', 'perhaps',          'perhaps',          'perhaps'),
    ('perhaps_limit_inside',         'perhaps', 'perhaps', 'perhaps',          'perhaps',          'perhaps'),
    ('group_by_unsorted',            NULL,      NULL,      'reason where cut', 'reason',           NULL),
    ('ties',                         NULL,      NULL,      NULL,               'reason',           NULL),
    ('unsorted',                     NULL,      NULL,      NULL,               'reason',           NULL),
    ('ties_under_limit',             NULL,      NULL,      'reason where cut', NULL,               NULL),
    ('concat_unsorted',              NULL,      NULL,      'reason',           NULL,               NULL)
) AS t(property, "rows", affected, data, "order", warnings);

-- True for SHOW, EXPLAIN and statements that read only the server's own tables.
CREATE OR REPLACE TEMP MACRO only_server(actions, written, tables) AS
(has_action(actions, 'asks_server') AND has_property(written, 'shows'))
    OR (len(tables) > 0 AND len(list_filter(tables, lambda t: NOT starts_with(replace(t, '`', ''), 'information_schema.'))) = 0);

CREATE OR REPLACE TEMP TABLE results_properties AS
SELECT digest, limited, [
    CASE WHEN has_action(actions, 'asks_time') AND NOT (getvariable('time_kept') AND NOT has_property(written, 'sysdate'))
        THEN CASE WHEN has_property(written, 'time_in_condition') THEN 'perhaps_time_in_condition'
            WHEN with_columns THEN 'perhaps_time_with_columns' ELSE 'asks_time' END END,
    CASE WHEN has_property(written, 'chance')
        THEN CASE WHEN has_property(written, 'chance_in_condition') THEN 'perhaps_chance_in_condition'
            WHEN with_columns THEN 'perhaps_chance_with_columns' ELSE 'chance' END END,
    CASE WHEN sorts_at_random THEN 'sorted_by_chance' END,
    CASE WHEN only_server(actions, written, tables) THEN 'asks_server'
        WHEN has_action(actions, 'session_dependent') OR has_action(actions, 'asks_server')
        THEN CASE WHEN has_property(written, 'session_in_condition') THEN 'perhaps_session_in_condition'
            WHEN with_columns THEN 'perhaps_session_with_columns'
            ELSE 'asks_session' END END,
    CASE WHEN getvariable('sort_lost') AND has_property(written, 'group_by') AND NOT sorts THEN 'group_by_unsorted'
        WHEN limited AND NOT sorts AND NOT sorts_at_random THEN 'limit_unsorted' END,
    CASE WHEN has_property(written, 'limit_inside') THEN 'perhaps_limit_inside' END,
    CASE WHEN sorts THEN 'ties' ELSE 'unsorted' END,
    CASE WHEN sorts AND limited THEN 'ties_under_limit' END,
    CASE WHEN has_property(written, 'concat_unsorted') THEN 'concat_unsorted' END
] AS properties
FROM (
    SELECT digest, actions, tables, properties AS written, has_property(written, 'order_by') AS sorts,
        has_property(written, 'order_by_random') AS sorts_at_random, has_property(written, 'limit') AS limited,
        coalesce(len(tables), 0) > 0 AND has_property(written, 'asks_rows') AS with_columns
    FROM digest_texts
);

WITH cells AS (
    FROM results_excuses UNPIVOT (state FOR kind IN ("rows", affected, data, "order", warnings))
), stated AS (
    SELECT c.kind, c.digest, e.property, CASE
            WHEN NOT ends_with(e.state, 'where cut') OR x.all_cut THEN split_part(e.state, ' ', 1)
            WHEN x.digest IS NULL OR x.some_whole THEN NULL
            WHEN starts_with(e.state, 'excuse') THEN 'perhaps'
            ELSE split_part(e.state, ' ', 1) END AS state
    FROM result_counts AS c
    JOIN (SELECT digest, unnest(properties) AS property FROM results_properties) AS p ON c.digest = p.digest
    JOIN cells AS e ON p.property = e.property AND e.kind = c.kind::VARCHAR
    LEFT JOIN limits_found AS x ON x.digest = c.digest AND x.kind = c.kind
), best AS (
    SELECT kind, digest, min({
            'rank': list_position(['excuse', 'reason', 'perhaps'], state), 'place': list_position(getvariable('result_reasons'), property), 'property': property
        }) AS best
    FROM stated
    WHERE state IS NOT NULL
    GROUP BY ALL
), certain AS ( -- tables whose writes changed different rows without a race, with the first such write
    SELECT n.tbl, min({'round': s.round, 'since': s.since, 'digest': s.digest}) AS first
    FROM spoiled_writes AS s
    JOIN table_names AS n ON s.digest = n.digest
    LEFT JOIN races_found AS r ON r.digest = s.digest AND r.kind = 'affected'
    WHERE s.spoiled = 'changed other rows' AND NOT coalesce(r.raced, false)
    GROUP BY n.tbl
), changers AS (
    SELECT n.digest, min(first).digest AS changer
    FROM table_names AS n
    JOIN certain USING (tbl)
    GROUP BY n.digest
), judged AS (
    SELECT c.*, best.rank AS rank, best.property AS property, coalesce(r.raced, false) AS raced,
        after_write = events AND w.changer IS NOT NULL AS changed, w.changer AS changer
    FROM result_counts AS c
    LEFT JOIN best ON best.digest IS NOT DISTINCT FROM c.digest AND best.kind = c.kind
    LEFT JOIN races_found AS r ON r.digest = c.digest AND r.kind = c.kind
    LEFT JOIN changers AS w ON w.digest = c.digest
), reasoned AS (
    SELECT *, CASE
        WHEN rank = 1 THEN property
        WHEN after_lost = events AND lost = 'was not sent' THEN 'write_not_sent'
        WHEN after_lost = events THEN 'write_failed'
        WHEN changed THEN 'write_changed_others'
        WHEN after_set = events AND set_root.lost THEN 'session_lost'
        WHEN after_set = events THEN 'set_failed'
        WHEN rank = 2 THEN property
        WHEN rank = 3 AND NOT starts_with(property, 'perhaps_') THEN 'perhaps_limit_unsorted'
        WHEN rank = 3 THEN property
        WHEN raced THEN 'perhaps_race' END AS reason
    FROM judged
)
SELECT r.kind, r.digest, CASE WHEN rank = 1 THEN property END AS known, reason,
    events, after_write, more_sent, r.first.session AS first_session, r.first.seq AS first_seq,
    CASE
        WHEN reason = 'write_failed' AND r.root.errno <> 0 THEN r.root.digest
        WHEN reason IN ('session_lost', 'set_failed') AND set_root.errno <> 0 THEN set_root.digest
        WHEN reason = 'write_changed_others' THEN nullif(changer, r.digest)
    END AS root_digest,
    nullif(CASE
        WHEN reason = 'write_not_sent' THEN s.errno
        WHEN reason = 'write_failed' THEN r.root.errno
        WHEN reason IN ('session_lost', 'set_failed') THEN set_root.errno
    END, 0) AS root_errno
FROM reasoned AS r
LEFT JOIN run_session AS s ON s.run = coalesce(getvariable('b'), 'a')
    AND (s.round, s.session, s.clone) = (r.root.round, r.root.session, r.root.clone)
ORDER BY list_position(['rows', 'data', 'affected', 'order', 'warnings'], r.kind), events DESC, r.digest

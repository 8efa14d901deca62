-- SPDX-License-Identifier: Apache-2.0
-- What differs between the schemas of the two targets? The result has one row for each difference. Tables with the most
-- time on the tape come first.
--
-- - what: a_lacks, b_lacks or differs.
-- - folded: the difference comes only from the version, family or defaults of the servers, for example json and
--   longtext.
-- - digests, tape_ns: the number of digests that name the table, and their time on the tape.
--
-- Input: the views schema_fact (run, kind, db, tbl, name, facts) and tape_digest, and these variables:
-- - family_a, family_b: 'mysql' or 'mariadb'
-- - one_version: whether both servers have the same version
--
-- Run by hand, after you create the view tape_digest of prelude.sql:
--   SET VARIABLE family_a = 'mysql'; SET VARIABLE family_b = 'mysql'; SET VARIABLE one_version = true;
--   CREATE VIEW facts_a AS SELECT 'a' AS run, * FROM 'old.run/schema_facts.parquet';
--   CREATE VIEW facts_b AS SELECT 'b' AS run, * FROM 'new.run/schema_facts.parquet';
--   CREATE VIEW schema_fact AS FROM facts_a UNION ALL FROM facts_b;
--   .read analyze/sql/servers/schema_differences.sql

-- Normalises the different spellings that servers use for the same type or property.
CREATE OR REPLACE TEMP MACRO plain_type(value) AS regexp_replace(
    regexp_replace(lower(value), '\b(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)', '\1', 'g'), '\butf8\b', 'utf8mb3', 'g');
CREATE OR REPLACE TEMP MACRO plain_fact(fact, value) AS CASE fact
    WHEN 'type' THEN plain_type(value)
    WHEN 'types' THEN plain_type(value)
    WHEN 'charset' THEN regexp_replace(value, '^utf8$', 'utf8mb3')
    WHEN 'collation' THEN regexp_replace(value, '^utf8_', 'utf8mb3_')
    WHEN 'default' THEN nullif(regexp_replace(
        regexp_replace(lower(value), 'current_timestamp\(\)', 'current_timestamp'), '^''(.*)''$', '\1'), 'null')
    WHEN 'extra' THEN nullif(trim(regexp_replace(
        replace(lower(value), 'current_timestamp()', 'current_timestamp'), 'default_generated', '')), '')
    WHEN 'expression' THEN nullif(regexp_replace(lower(value), '[\s()`\\'']|_(utf8mb[34]|latin1|ascii)\b', '', 'g'), '')
    -- Each server version prints a view's definition differently. If the versions differ, only the names and strings in
    -- the definition are compared.
    WHEN 'definition' THEN CASE WHEN getvariable('one_version') THEN lower(value)
        ELSE array_to_string(list_sort(list_distinct(list_filter(regexp_extract_all(lower(value), '`[^`]+`|''[^'']*'''),
            lambda word: NOT starts_with(word, '`name_exp_')))), ' ') END
    WHEN 'subpartition_expression' THEN replace(value, '`', '')
    WHEN 'on_update' THEN replace(value, 'NO ACTION', 'RESTRICT')
    WHEN 'on_delete' THEN replace(value, 'NO ACTION', 'RESTRICT')
    WHEN 'row_format' THEN lower(value)
    WHEN 'visible' THEN nullif(value, 'YES')
    WHEN 'enforced' THEN nullif(value, 'YES')
    WHEN 'order' THEN nullif(regexp_replace(value, '[^D,]', '', 'g'), repeat(',', length(regexp_replace(value, '[^,]', '', 'g'))))
    ELSE value
END;
CREATE OR REPLACE TEMP MACRO times_apart(a, b) AS greatest(TRY_CAST(a AS DOUBLE), TRY_CAST(b AS DOUBLE), 1)
    / greatest(least(TRY_CAST(a AS DOUBLE), TRY_CAST(b AS DOUBLE)), 1);

WITH objects AS (
    SELECT run, kind, lower(db) AS db, lower(tbl) AS tbl, lower(name) AS name, arg_min(facts, (db, tbl, name)) AS facts,
        min(db) AS shown_db, min(tbl) AS shown_tbl, min(name) AS shown_name
    FROM schema_fact WHERE kind NOT IN ('problem', 'charset', 'event')
    GROUP BY ALL
),
-- Schema parts that a server did not report, or reported only partly. Objects in these parts do not count as missing.
unknown AS (
    SELECT DISTINCT run, CASE WHEN json_valid(facts) THEN json_extract_string(facts, '$.unknown') END AS kind, lower(db) AS db
    FROM schema_fact WHERE kind = 'problem'
),
-- Views that both servers have. Their columns follow from the definition and the tables, so they are not compared. A
-- server chooses its own types for the columns of a view, and reports no types if a table is missing.
views AS (
    SELECT db, tbl FROM objects WHERE kind = 'view' AND contains(facts, '"definition"') GROUP BY ALL HAVING count(*) = 2
),
pairs AS (
    SELECT coalesce(a.kind, b.kind) AS kind, coalesce(a.db, b.db) AS db, coalesce(a.tbl, b.tbl) AS tbl,
        coalesce(a.name, b.name) AS name, coalesce(a.shown_db, b.shown_db) AS shown_db,
        coalesce(a.shown_tbl, b.shown_tbl) AS shown_tbl, coalesce(a.shown_name, b.shown_name) AS shown_name,
        a.facts AS a, b.facts AS b
    FROM (FROM objects WHERE run = 'a') AS a
    FULL JOIN (FROM objects WHERE run = 'b') AS b
        ON a.kind = b.kind AND a.db = b.db AND a.tbl = b.tbl AND a.name = b.name
    WHERE a.facts IS DISTINCT FROM b.facts
        AND NOT (coalesce(a.kind, b.kind) = 'column' AND (coalesce(a.db, b.db), coalesce(a.tbl, b.tbl)) IN (SELECT (db, tbl) FROM views))
),
-- Missing objects. If a schema or table is missing, only the schema or table is listed, and not its contents.
lacking AS (
    SELECT p.*, CASE WHEN a IS NULL THEN 'a_lacks' ELSE 'b_lacks' END AS what
    FROM pairs AS p
    WHERE (a IS NULL OR b IS NULL) AND kind NOT IN ('statistics', 'foreign_key_rule', 'view', 'parameters')
        AND NOT EXISTS (FROM unknown AS u
            WHERE u.kind = p.kind AND u.db IN ('', p.db) AND u.run = CASE WHEN a IS NULL THEN 'a' ELSE 'b' END)
        AND NOT EXISTS (FROM pairs AS s WHERE s.kind = 'schema' AND s.db = p.db AND p.kind <> 'schema' AND (s.a IS NULL OR s.b IS NULL))
        AND NOT EXISTS (FROM pairs AS t WHERE t.kind = 'table' AND t.db = p.db AND t.tbl = p.tbl AND p.kind NOT IN ('schema', 'table')
            AND (t.a IS NULL OR t.b IS NULL))
),
-- Routines that both servers have. The list is needed because a routine without parameters has no parameters row.
called AS (
    SELECT db, name FROM objects WHERE kind = 'routine' AND NOT EXISTS (FROM unknown AS u WHERE u.kind = 'parameters')
    GROUP BY ALL HAVING count(*) = 2
),
facts AS (
    SELECT p.*, unnest(list_distinct(list_concat(json_keys(coalesce(a, '{}')), json_keys(coalesce(b, '{}'))))) AS fact
    FROM pairs AS p
    WHERE (a IS NOT NULL AND b IS NOT NULL) OR (kind = 'parameters' AND (db, name) IN (SELECT (db, name) FROM called))
),
valued AS (
    SELECT * REPLACE (json_extract_string(a, '$."' || fact || '"') AS a, json_extract_string(b, '$."' || fact || '"') AS b) FROM facts
),
-- Tables with the same columns on both servers. Column positions are compared only for these tables, because an extra
-- column moves all later columns.
same_columns AS (
    SELECT db, tbl FROM objects WHERE kind = 'column' GROUP BY ALL
    HAVING list_sort(list(name) FILTER (run = 'a')) = list_sort(list(name) FILTER (run = 'b'))
),
differing AS (
    SELECT kind, db, tbl, name, shown_db, shown_tbl, shown_name, a, b, 'differs' AS what, fact
    FROM valued AS v
    WHERE CASE
        WHEN fact = 'rows' THEN times_apart(a, b) >= 2 AND greatest(TRY_CAST(a AS DOUBLE), TRY_CAST(b AS DOUBLE)) >= 1000
        WHEN fact = 'cardinality' THEN times_apart(a, b) >= 10 AND greatest(TRY_CAST(a AS DOUBLE), TRY_CAST(b AS DOUBLE)) >= 100
        WHEN fact = 'next_id' THEN coalesce(a, '1') <> coalesce(b, '1') -- MySQL reports no next id before the first row
        WHEN fact = 'updated' THEN abs(date_diff('hour', TRY_CAST(a AS TIMESTAMP), TRY_CAST(b AS TIMESTAMP))) >= 168
        WHEN fact = 'position' THEN a <> b AND EXISTS (FROM same_columns AS s WHERE s.db = v.db AND s.tbl = v.tbl)
        -- The server shows the body only to accounts with access to it.
        WHEN kind = 'view' OR (kind = 'routine' AND fact = 'does') THEN plain_fact(fact, a) <> plain_fact(fact, b)
        ELSE plain_fact(fact, a) IS DISTINCT FROM plain_fact(fact, b)
    END
),
defaults AS (SELECT run, plain_fact('collation', facts ->> '$.collation') AS collation FROM schema_fact WHERE kind = 'charset'),
named AS (
    SELECT lower(replace(regexp_extract(unnest(tables), '([^.]+)$', 1), '`', '')) AS tbl, digest, coalesce(duration_ns, 0) AS ns
    FROM tape_digest
),
used AS (SELECT tbl, count(DISTINCT digest) AS digests, sum(ns)::BIGINT AS tape_ns FROM named GROUP BY tbl),
every AS (
    SELECT *, NULL AS fact FROM lacking
    UNION ALL BY NAME
    FROM differing
)
SELECT e.what, CASE e.kind WHEN 'parameters' THEN 'routine' ELSE e.kind END AS kind, e.shown_db AS db, e.shown_tbl AS tbl, e.shown_name AS name, e.fact, e.a, e.b,
    coalesce(u.digests, 0) AS digests, coalesce(u.tape_ns, 0) AS tape_ns,
    coalesce(CASE
        WHEN fact = 'collation' THEN
            regexp_extract(plain_fact('collation', e.a), '^[^_]+') = regexp_extract(plain_fact('collation', e.b), '^[^_]+')
            AND EXISTS (FROM defaults AS d WHERE d.run = 'a' AND d.collation = plain_fact('collation', e.a))
            AND EXISTS (FROM defaults AS d WHERE d.run = 'b' AND d.collation = plain_fact('collation', e.b))
        WHEN getvariable('family_a') = getvariable('family_b') THEN false
        WHEN fact IN ('expression', 'extra') THEN e.a IS NOT NULL AND e.b IS NOT NULL
        WHEN fact IN ('type', 'charset') THEN EXISTS (FROM valued AS v WHERE v.kind = 'column' AND v.db = e.db AND v.tbl = e.tbl
            AND v.name = e.name AND v.fact = 'type' AND list_sort([lower(v.a), lower(v.b)]) = ['json', 'longtext'])
    END, false)
    -- JSON in MariaDB is a text with its own collation.
    OR (fact IS NOT DISTINCT FROM 'collation' AND EXISTS (FROM valued AS v WHERE v.kind = 'column' AND v.db = e.db AND v.tbl = e.tbl
            AND v.name = e.name AND v.fact = 'type' AND list_sort([lower(v.a), lower(v.b)]) = ['json', 'longtext']))
    -- The default of a table or schema affects only new columns. Existing columns are compared separately.
    OR coalesce(e.kind = 'table' AND fact = 'collation', false) AS folded,
    count(*) OVER () AS differences
FROM every AS e
LEFT JOIN used AS u ON u.tbl = e.tbl
ORDER BY folded, tape_ns DESC, tbl, kind <> 'table', what = 'differs', kind, name, fact
LIMIT 2000

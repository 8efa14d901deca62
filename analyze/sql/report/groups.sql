-- SPDX-License-Identifier: Apache-2.0
-- Which schemas, users, statement classes, tables and sessions take the time, and on which side do they take more time?
--
-- `kind` names the group of a row. Each group has the 50 entries with the most time. Only tables that a statement names
-- are counted.
--
-- Input: the view outcome and the table digest_texts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/groups.sql
CREATE OR REPLACE TEMP TABLE groups_shapes AS
SELECT digest, coalesce(db, '-') AS db, coalesce("user", '-') AS "user", class, run, count(*) AS n, count(*) FILTER (errno <> 0) AS errors, sum(service_ns) FILTER (ok)::BIGINT AS total_ns
FROM outcome
WHERE status = 'executed'
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE groups_sessions AS
SELECT session, run, count(*) AS n, count(*) FILTER (errno <> 0) AS errors, sum(service_ns) FILTER (ok)::BIGINT AS total_ns
FROM outcome
WHERE status = 'executed'
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW groups_tables AS
SELECT digest, unnest(tables) AS name FROM digest_texts;

CREATE OR REPLACE TEMP VIEW groups_sums AS
SELECT kind, name, run, sum(n)::BIGINT AS n, sum(errors)::BIGINT AS errors, sum(total_ns)::BIGINT AS total_ns
FROM (
    SELECT 'schema' AS kind, db::VARCHAR AS name, run, n, errors, total_ns FROM groups_shapes
    UNION ALL SELECT 'user', "user"::VARCHAR, run, n, errors, total_ns FROM groups_shapes
    UNION ALL SELECT 'class', class::VARCHAR, run, n, errors, total_ns FROM groups_shapes WHERE class IS NOT NULL
    UNION ALL SELECT 'session', session::VARCHAR, run, n, errors, total_ns FROM groups_sessions
    UNION ALL SELECT 'table', t.name, s.run, s.n, s.errors, s.total_ns FROM groups_shapes AS s JOIN groups_tables AS t ON s.digest = t.digest
)
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW groups_places AS
SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY max(total_ns) DESC NULLS LAST, name) AS place
FROM groups_sums
GROUP BY kind, name;

CREATE OR REPLACE TEMP TABLE groups_of_schema AS
SELECT coalesce(db, '-') AS name, run, quantile_disc(service_ns, [0.5, 0.95, 0.99]) AS p
FROM outcome
WHERE ok
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE groups_of_user AS
SELECT coalesce("user", '-') AS name, run, quantile_disc(service_ns, [0.5, 0.95, 0.99]) AS p
FROM outcome
WHERE ok
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE groups_of_class AS
SELECT class AS name, run, quantile_disc(service_ns, [0.5, 0.95, 0.99]) AS p
FROM outcome
WHERE ok AND class IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE groups_of_table AS
SELECT t.name AS name, o.run AS run, quantile_disc(o.service_ns, [0.5, 0.95, 0.99]) AS p
FROM outcome AS o
JOIN groups_tables AS t ON o.digest = t.digest
WHERE o.ok
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE groups_of_session AS
SELECT session AS name, run, quantile_disc(service_ns, [0.5, 0.95, 0.99]) AS p
FROM outcome
WHERE ok AND session IN (SELECT name::BIGINT FROM groups_places WHERE kind = 'session' AND place <= 50)
GROUP BY ALL;

WITH times AS (
    SELECT 'schema' AS kind, name::VARCHAR AS name, run, p FROM groups_of_schema
    UNION ALL SELECT 'user', name::VARCHAR, run, p FROM groups_of_user
    UNION ALL SELECT 'class', name::VARCHAR, run, p FROM groups_of_class
    UNION ALL SELECT 'table', name, run, p FROM groups_of_table
    UNION ALL SELECT 'session', name::VARCHAR, run, p FROM groups_of_session
)
SELECT s.kind, s.name, s.run, s.n, s.errors, s.total_ns, t.p[1] AS p50_ns, t.p[2] AS p95_ns, t.p[3] AS p99_ns
FROM groups_sums AS s
JOIN groups_places AS p USING (kind, name)
LEFT JOIN times AS t ON s.kind = t.kind AND s.name = t.name AND s.run = t.run
WHERE p.place <= 50
ORDER BY list_position(['schema', 'user', 'table', 'class', 'session'], s.kind), p.place, s.run

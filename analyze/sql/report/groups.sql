-- SPDX-License-Identifier: Apache-2.0
-- Which schemas, users, statement classes, tables and sessions take the time, and on which side do they take more time?
--
-- `kind` names the group of a row. Each group has the 50 entries with the most time. Only tables that a statement names
-- are counted.
--
-- Input: the tables shape_counts, service_bins, session_counts, top_sessions, session_bins and digest_texts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/report/groups.sql
CREATE OR REPLACE TEMP VIEW groups_tables AS
SELECT digest, unnest(tables) AS name FROM digest_texts;

CREATE OR REPLACE TEMP TABLE groups_sums AS
WITH shapes AS (
    SELECT digest, coalesce(db, '-') AS db, coalesce("user", '-') AS "user", class, run, executed AS n, errors, service_ns FROM shape_counts WHERE executed > 0
), sums AS (
    SELECT kind, name, run, sum(n)::BIGINT AS n, sum(errors)::BIGINT AS errors, sum(service_ns)::BIGINT AS total_ns
    FROM (
        SELECT 'schema' AS kind, db::VARCHAR AS name, run, n, errors, service_ns FROM shapes
        UNION ALL SELECT 'user', "user"::VARCHAR, run, n, errors, service_ns FROM shapes
        UNION ALL SELECT 'class', class::VARCHAR, run, n, errors, service_ns FROM shapes WHERE class IS NOT NULL
        UNION ALL SELECT 'session', session::VARCHAR, run, n, errors, service_ns FROM session_counts WHERE session IN (FROM top_sessions)
        UNION ALL SELECT 'table', t.name, s.run, s.n, s.errors, s.service_ns FROM shapes AS s JOIN groups_tables AS t ON s.digest = t.digest
    )
    GROUP BY ALL
), places AS (
    SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY max(total_ns) DESC NULLS LAST, name) AS place
    FROM sums
    GROUP BY kind, name
)
SELECT s.*, p.place FROM sums AS s JOIN places AS p USING (kind, name) WHERE p.place <= 50;

CREATE OR REPLACE TEMP TABLE groups_bins AS
WITH bins AS (
    SELECT digest, coalesce(db, '-')::VARCHAR AS db, coalesce("user", '-')::VARCHAR AS "user", class::VARCHAR AS class, run, bin, n, least FROM service_bins
), named AS (
    SELECT 'schema' AS kind, db AS name, run, bin, sum(n)::BIGINT AS n, min(least) AS least FROM bins GROUP BY ALL
    UNION ALL SELECT 'user', "user", run, bin, sum(n), min(least) FROM bins GROUP BY ALL
    UNION ALL SELECT 'class', class, run, bin, sum(n), min(least) FROM bins WHERE class IS NOT NULL GROUP BY ALL
    UNION ALL SELECT 'session', session::VARCHAR, run, bin, n, least FROM session_bins
    UNION ALL SELECT 'table', t.name, s.run, s.bin, sum(s.n), min(s.least) FROM bins AS s JOIN groups_tables AS t ON s.digest = t.digest
        WHERE t.name IN (SELECT name FROM groups_sums WHERE kind = 'table') GROUP BY ALL
)
SELECT {'kind': kind, 'name': name, 'run': run} AS key, bin, n, least FROM named;

SELECT s.kind, s.name, s.run, s.n, s.errors, s.total_ns, v.p[1] AS p50_ns, v.p[3] AS p95_ns, v.p[4] AS p99_ns
FROM groups_sums AS s
LEFT JOIN values_at('groups_bins', 'usual', 89) AS v ON s.kind = v.key.kind AND s.name = v.key.name AND s.run = v.key.run
ORDER BY list_position(['schema', 'user', 'table', 'class', 'session'], s.kind), s.place, s.run

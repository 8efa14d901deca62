-- SPDX-License-Identifier: Apache-2.0
-- Which schemas, users, classes of statement, tables and sessions take the time, and on which side more? `kind` says which of these a
-- row is; the 50 with the most time of each. Tables are those that the statement names. Input: outcome, digest_texts.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/groups.sql
CREATE OR REPLACE TEMP VIEW grouped AS
WITH named AS MATERIALIZED (
    SELECT digest, unnest(tables) AS name FROM digest_texts
)
SELECT 'schema' AS kind, coalesce(db::VARCHAR, '-') AS name, run, ok, errno, service_ns FROM outcome WHERE status = 'executed'
UNION ALL SELECT 'user', coalesce("user"::VARCHAR, '-'), run, ok, errno, service_ns FROM outcome WHERE status = 'executed'
UNION ALL SELECT 'class', class::VARCHAR, run, ok, errno, service_ns FROM outcome WHERE status = 'executed' AND class IS NOT NULL
UNION ALL SELECT 'session', session::VARCHAR, run, ok, errno, service_ns FROM outcome WHERE status = 'executed'
UNION ALL
SELECT 'table', t.name, o.run, o.ok, o.errno, o.service_ns
FROM outcome AS o JOIN named AS t USING (digest) WHERE o.status = 'executed';

CREATE OR REPLACE TEMP TABLE groups_sums AS
SELECT kind, name, run, count(*) AS n, count(*) FILTER (errno <> 0) AS errors, sum(service_ns) FILTER (ok)::BIGINT AS total_ns
FROM grouped
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW groups_places AS
SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY max(total_ns) DESC NULLS LAST, name) AS place
FROM groups_sums
GROUP BY kind, name;

CREATE OR REPLACE TEMP TABLE groups_times AS
SELECT g.kind AS kind, g.name AS name, g.run AS run, quantile_disc(g.service_ns, [0.5, 0.95, 0.99]) AS p
FROM grouped AS g
JOIN groups_places AS s ON g.kind = s.kind AND g.name = s.name
WHERE g.ok AND s.place <= 50
GROUP BY ALL;

SELECT s.kind, s.name, s.run, s.n, s.errors, s.total_ns, t.p[1] AS p50_ns, t.p[2] AS p95_ns, t.p[3] AS p99_ns
FROM groups_sums AS s
JOIN groups_places AS p USING (kind, name)
LEFT JOIN groups_times AS t ON s.kind = t.kind AND s.name = t.name AND s.run = t.run
WHERE p.place <= 50
ORDER BY list_position(['schema', 'user', 'table', 'class', 'session'], s.kind), p.place, s.run

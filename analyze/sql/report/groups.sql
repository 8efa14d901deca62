-- SPDX-License-Identifier: Apache-2.0
-- Which schemas, users, classes of statement, tables and sessions take the time, and on which side more? `kind` says which of these a
-- row is; the 50 with the most time of each. Tables are those that the statement names. Input: outcome, digest_texts.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/groups.sql
WITH named AS MATERIALIZED (
    SELECT digest, unnest(tables) AS name
    FROM digest_texts
), long AS (
    SELECT 'schema' AS kind, coalesce(db::VARCHAR, '-') AS name, run, ok, errno, status, service_ns FROM outcome WHERE status = 'executed'
    UNION ALL SELECT 'user', coalesce("user"::VARCHAR, '-'), run, ok, errno, status, service_ns FROM outcome WHERE status = 'executed'
    UNION ALL SELECT 'class', class::VARCHAR, run, ok, errno, status, service_ns FROM outcome WHERE status = 'executed' AND class IS NOT NULL
    UNION ALL SELECT 'session', session::VARCHAR, run, ok, errno, status, service_ns FROM outcome WHERE status = 'executed'
    UNION ALL
    SELECT 'table', t.name, o.run, o.ok, o.errno, o.status, o.service_ns
    FROM outcome AS o JOIN named AS t USING (digest) WHERE o.status = 'executed'
), sums AS (
    SELECT kind, name, run, count(*) AS n, count(*) FILTER (errno <> 0) AS errors, sum(service_ns) FILTER (ok)::BIGINT AS total_ns,
        quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok) AS p
    FROM long
    GROUP BY ALL
), places AS (
    SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY max(total_ns) DESC NULLS LAST, name) AS place
    FROM sums
    GROUP BY kind, name
)
SELECT s.kind, s.name, s.run, s.n, s.errors, s.total_ns, s.p[1] AS p50_ns, s.p[2] AS p95_ns, s.p[3] AS p99_ns
FROM sums AS s
JOIN places AS p USING (kind, name)
WHERE p.place <= 50
ORDER BY list_position(['schema', 'user', 'table', 'class', 'session'], kind), p.place, run

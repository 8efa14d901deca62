-- SPDX-License-Identifier: Apache-2.0
-- The same by schema, user, class of statement, table and session: where does the time go, on which side more? `kind` says which;
-- the 50 with the most time of each. Tables are those that the normalised text names. Input: outcome, digest_texts.
-- Each kind is summed by what its column is stored as, and named afterwards: millions of rows are never compared as texts.
WITH named AS MATERIALIZED (
    SELECT digest, name, dense_rank() OVER (ORDER BY name) AS number
    FROM (
        SELECT digest, unnest(list_distinct(
            regexp_extract_all(normalized, '\b(?:from|join|update|into|table)\s+`?([\w$.]+)', 1))) AS name
        FROM digest_texts
    )
), sent AS (
    SELECT db, "user", class, session, digest, run, errno, service_ns, ok FROM outcome WHERE status = 'executed'
), sums AS MATERIALIZED (
    SELECT 'schema' AS kind, coalesce(db::VARCHAR, '-') AS name, * EXCLUDE (db)
    FROM (
        SELECT db, run, count(*) AS n, count(*) FILTER (errno <> 0) AS errors, sum(service_ns) FILTER (ok)::BIGINT AS total_ns,
            quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok) AS p
        FROM sent GROUP BY ALL)
    UNION ALL
    SELECT 'user', coalesce("user"::VARCHAR, '-'), * EXCLUDE ("user")
    FROM (
        SELECT "user", run, count(*), count(*) FILTER (errno <> 0), sum(service_ns) FILTER (ok)::BIGINT,
            quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok)
        FROM sent GROUP BY ALL)
    UNION ALL
    SELECT 'class', class::VARCHAR, * EXCLUDE (class)
    FROM (
        SELECT class, run, count(*), count(*) FILTER (errno <> 0), sum(service_ns) FILTER (ok)::BIGINT,
            quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok)
        FROM sent WHERE class IS NOT NULL GROUP BY ALL)
    UNION ALL
    SELECT 'session', session::VARCHAR, * EXCLUDE (session)
    FROM (
        SELECT session, run, count(*), count(*) FILTER (errno <> 0), sum(service_ns) FILTER (ok)::BIGINT,
            quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok)
        FROM sent GROUP BY ALL)
    UNION ALL
    SELECT 'table', (SELECT any_value(name) FROM named WHERE named.number = found.number), * EXCLUDE (number)
    FROM (
        SELECT number, run, count(*), count(*) FILTER (errno <> 0), sum(service_ns) FILTER (ok)::BIGINT,
            quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok)
        FROM sent JOIN named USING (digest) GROUP BY ALL) AS found
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

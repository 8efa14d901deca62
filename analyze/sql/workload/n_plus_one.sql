-- SPDX-License-Identifier: Apache-2.0
-- Which reads run in a loop?
--
-- A loop is a series of at least ten executions of one digest in a session, with different literals. Another read comes
-- just before the loop. The loop probably walks through the rows of that read. Two alternating digests (A B A B ...),
-- at least ten times each, are also a loop. `partner` is then the second digest. Only reads and writes count as
-- neighbours.
--
-- Input: the tables workload_events and workload_digests.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE workload_digests AS
--       FROM (VALUES (1, 'a', 'select a'), (2, 'b', 'select b')) AS v(id, digest, normalized);
--   CREATE TABLE workload_events AS SELECT *, 1 AS session, 'read' AS class, 5 AS duration_ns
--       FROM (SELECT i AS seq, i AS text, least(i, 1) + 1 AS digest FROM range(12) AS r(i));
--   .read analyze/sql/workload/n_plus_one.sql
WITH placed AS (
    SELECT session, seq, digest, class, row_number() OVER by_seq AS place, lag(digest) OVER by_seq AS before,
        lag(class) OVER by_seq AS class_before, lead(digest) OVER by_seq AS behind, lag(digest, 2) OVER by_seq AS before2,
        lag(digest, 3) OVER by_seq AS before3, lag(class, 3) OVER by_seq AS class_before3, lag(seq, 2) OVER by_seq AS seq_before2
    FROM workload_events
    WHERE class IN ('read', 'write')
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq)
), bounds AS ( -- the first and the last statement of each series of one digest
    SELECT *, lead(seq) OVER by_seq AS other_seq, lead(place) OVER by_seq AS other_place
    FROM placed
    WHERE class = 'read' AND (digest IS DISTINCT FROM before) <> (digest IS DISTINCT FROM behind)
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq)
), turns AS ( -- the third and the last statement of each series A B A B ...
    SELECT *, lead(seq) OVER by_seq AS other_seq, lead(place) OVER by_seq AS other_place
    FROM placed
    WHERE digest = before2 AND digest <> before
        AND (before IS DISTINCT FROM before3) <> (before IS DISTINCT FROM behind)
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq)
), loops AS (
    SELECT session, seq AS first_seq, other_seq AS last_seq, digest, NULL AS partner, before
    FROM bounds
    WHERE digest IS DISTINCT FROM before AND other_place - place >= 9 AND class_before = 'read'
    UNION ALL
    SELECT session, seq_before2, other_seq, digest, before, before3
    FROM turns
    WHERE before IS DISTINCT FROM before3 AND other_place - place >= 17 AND class = 'read' AND class_before = 'read' AND class_before3 = 'read'
), measured AS (
    SELECT l.session, l.first_seq, any_value(l.before) AS before, any_value(l.digest) AS digest, any_value(l.partner) AS partner,
        count(*) AS statements, count(DISTINCT e.text) AS texts, sum(e.duration_ns)::BIGINT AS duration_ns
    FROM (
        SELECT session, seq, digest, text, duration_ns
        FROM workload_events
        WHERE digest IN (SELECT digest FROM loops UNION SELECT partner FROM loops WHERE partner IS NOT NULL)
    ) AS e
    ASOF JOIN (FROM loops QUALIFY row_number() OVER (PARTITION BY session, first_seq ORDER BY last_seq DESC, partner) = 1) AS l
        ON e.session = l.session AND e.seq >= l.first_seq
    WHERE e.seq <= l.last_seq AND (e.digest = l.digest OR e.digest = l.partner)
    GROUP BY l.session, l.first_seq
)
SELECT d.digest, any_value(d.normalized) AS normalized, p.digest AS partner, any_value(p.normalized) AS partner_normalized,
    b.digest AS behind, any_value(b.normalized) AS behind_normalized, count(*) AS loops, sum(m.statements)::BIGINT AS statements,
    max(m.statements) AS longest, sum(m.duration_ns)::BIGINT AS duration_ns
FROM measured AS m
JOIN workload_digests AS d ON m.digest = d.id
JOIN workload_digests AS b ON m.before = b.id
LEFT JOIN workload_digests AS p ON m.partner = p.id
WHERE m.texts > CASE WHEN m.partner IS NULL THEN 1 ELSE 2 END
GROUP BY d.digest, p.digest, b.digest
ORDER BY duration_ns DESC NULLS LAST, statements DESC, d.digest, p.digest NULLS FIRST, b.digest

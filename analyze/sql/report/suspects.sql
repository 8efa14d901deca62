-- SPDX-License-Identifier: Apache-2.0
-- Which differences may the values of the statements explain? The rows: the digests whose values are needed.
-- Races: those of a digest that differs in some executions and not in all, each of them with a write of another session that overlaps with
--   it on a side, or that came before it on one side only; or that follows two such writes. The write has to be to a table of its own, and to rows that
--   it could touch. suspects_acts: the differences, and the writes to their tables, with their times on both sides; suspects_ends: the ends of their
--   transactions. Variable writes_race: whether writes were sent without --order commit.
-- Limits: suspects_limited: the differences of statements with a LIMIT, and how many rows came.
-- suspects_values.sql continues when the values have been parsed. Input: joined, matched_events, digest_texts.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/suspects.sql
CREATE OR REPLACE TEMP VIEW suspects_tables AS
SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl, len(tables) = 1 AS alone FROM digest_texts;

-- What belongs to the run under test.
CREATE OR REPLACE TEMP MACRO new_of(a, b) AS CASE WHEN getvariable('b') IS NULL THEN a ELSE b END;

CREATE OR REPLACE TEMP TABLE suspects_matched AS
SELECT digest, count(*) AS events, count(*) FILTER (kind IS NOT NULL AND kind <> 'warnings') AS differing
FROM matched_events
WHERE digest IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW suspects_raced AS
SELECT digest, tbl
FROM suspects_tables
WHERE getvariable('writes_race') AND digest IN (SELECT digest FROM suspects_matched WHERE differing > 0 AND (differing < events OR events < 3))
    AND tbl IN (SELECT w.tbl FROM suspects_tables AS w JOIN digest_texts AS t ON w.digest = t.digest WHERE t.class = 'write');

-- A moment of the reference; the tape knows only when an event began.
CREATE OR REPLACE TEMP MACRO old_of(began, a) AS CASE WHEN getvariable('b') IS NULL THEN began ELSE a END;

CREATE OR REPLACE TEMP TABLE suspects_acts AS
SELECT digest, round, session, clone, seq, class = 'write' AS writes, matched AND kind IS NOT NULL AND kind <> 'warnings' AS differs, kind,
    old_of(start_ns, a_sent_ns) AS old_sent, old_of(start_ns, coalesce(a_done_ns, a_sent_ns)) AS old_done,
    new_of(a_sent_ns, b_sent_ns) AS new_sent, new_of(coalesce(a_done_ns, a_sent_ns), coalesce(b_done_ns, b_sent_ns)) AS new_done
FROM joined
WHERE (digest IN (SELECT digest FROM suspects_raced) AND matched AND kind IS NOT NULL AND kind <> 'warnings')
    OR (class = 'write' AND digest IN (SELECT digest FROM suspects_tables WHERE tbl IN (SELECT tbl FROM suspects_raced)));

CREATE OR REPLACE TEMP TABLE suspects_ends AS
SELECT round, session, clone, seq, old_of(start_ns, a_done_ns) AS old_done, new_of(a_done_ns, b_done_ns) AS new_done
FROM joined
WHERE class = 'transaction' AND (round, session, clone) IN (SELECT (round, session, clone) FROM suspects_acts WHERE writes);

CREATE OR REPLACE TEMP TABLE suspects_limited AS
SELECT kind, digest, session, seq, coalesce(b_rows_sent, a_rows_sent) AS sent
FROM joined
WHERE matched AND kind IN ('data', 'order') AND digest IN (SELECT digest FROM digest_texts WHERE has_property(properties, 'limit'));

SELECT DISTINCT digest FROM suspects_acts WHERE digest IN (SELECT digest FROM suspects_tables WHERE alone)
UNION
SELECT DISTINCT digest FROM suspects_limited
ORDER BY digest

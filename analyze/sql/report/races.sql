-- SPDX-License-Identifier: Apache-2.0
-- Which differences may be a race, and which statements raced? Those of a digest that differs in some executions and not in all, each of
-- them with a write of another session that overlaps with it on a side, or that came before it on one side only; or behind two such writes.
-- The write has to be to a table of its own, and to rows that it could touch: raced.sql decides that, with the values of the statements.
-- races_acts: the differences, and the writes to their tables, with their times on both sides; races_ends: the ends of their transactions.
-- The rows: the digests whose statements may say by their values which rows they are about.
-- Variable writes_race: whether writes were sent without --order commit. Input: joined, matched_events, digest_texts.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/races.sql
CREATE OR REPLACE TEMP VIEW races_tables AS
SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl FROM digest_texts;

-- What belongs to the run under test.
CREATE OR REPLACE TEMP MACRO new_of(a, b) AS CASE WHEN getvariable('b') IS NULL THEN a ELSE b END;

CREATE OR REPLACE TEMP TABLE races_matched AS
SELECT digest, count(*) AS events, count(*) FILTER (kind IS NOT NULL AND kind <> 'warnings') AS differing
FROM matched_events
WHERE digest IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW races_suspects AS
SELECT digest, tbl
FROM races_tables
WHERE getvariable('writes_race') AND digest IN (SELECT digest FROM races_matched WHERE differing > 0 AND (differing < events OR events < 3))
    AND tbl IN (SELECT w.tbl FROM races_tables AS w JOIN digest_texts AS t ON w.digest = t.digest WHERE t.class = 'write');

-- A moment of the reference; the tape knows only when an event began.
CREATE OR REPLACE TEMP MACRO old_of(began, a) AS CASE WHEN getvariable('b') IS NULL THEN began ELSE a END;

CREATE OR REPLACE TEMP TABLE races_acts AS
SELECT digest, round, session, clone, seq, class = 'write' AS writes, matched AND kind IS NOT NULL AND kind <> 'warnings' AS differs, kind,
    old_of(start_ns, a_sent_ns) AS old_sent, old_of(start_ns, coalesce(a_done_ns, a_sent_ns)) AS old_done,
    new_of(a_sent_ns, b_sent_ns) AS new_sent, new_of(coalesce(a_done_ns, a_sent_ns), coalesce(b_done_ns, b_sent_ns)) AS new_done
FROM joined
WHERE (digest IN (SELECT digest FROM races_suspects) AND matched AND kind IS NOT NULL AND kind <> 'warnings')
    OR (class = 'write' AND digest IN (SELECT digest FROM races_tables WHERE tbl IN (SELECT tbl FROM races_suspects)));

CREATE OR REPLACE TEMP TABLE races_ends AS
SELECT round, session, clone, seq, old_of(start_ns, a_done_ns) AS old_done, new_of(a_done_ns, b_done_ns) AS new_done
FROM joined
WHERE class = 'transaction' AND (round, session, clone) IN (SELECT (round, session, clone) FROM races_acts WHERE writes);

-- What a procedure reads and writes is in none of its values.
SELECT DISTINCT t.digest
FROM races_acts AS a
JOIN digest_texts AS t ON a.digest = t.digest
WHERE len(t.tables) = 1 AND NOT has_property(t.properties, 'calls_procedure')
ORDER BY 1

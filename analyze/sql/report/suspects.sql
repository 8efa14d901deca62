-- SPDX-License-Identifier: Apache-2.0
-- For which differences can the values of the statements give an explanation? The result lists the digests whose values
-- must be parsed. suspects_values.sql continues when the values have been parsed.
--
-- Races: a digest is examined if its results differ in some executions but not in all. A digest with fewer than 3
-- executions is also examined. Only writes of other sessions to rows that the statement could touch explain a
-- difference. There are three cases:
-- - The write overlaps with the statement on one side.
-- - The write came before the statement on only one side.
-- - The statement follows two writes that raced with each other.
--
-- Tables and variables:
-- - suspects_acts: the differences and the writes to their tables, with their times on both sides.
-- - suspects_ends: the ends of the transactions of these writes.
-- - writes_race (variable): whether writes were sent without --order commit.
--
-- Limits: suspects_limited contains the differences of statements with a LIMIT, and the number of rows sent.
--
-- Input: the table joined, the view matched_events and the table digest_texts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/suspects.sql
CREATE OR REPLACE TEMP VIEW suspects_tables AS
SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl, len(tables) = 1 AS alone FROM digest_texts;

-- Returns the value of the run under test. This is the value of b, or of a if there is only one run.
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

-- Returns a time of the reference. If the reference is the tape, this is the start of the event, because the tape
-- provides no other usable time.
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

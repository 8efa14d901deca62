-- SPDX-License-Identifier: Apache-2.0
-- Which differences can a race or a LIMIT explain?
--
-- - races_found: for each kind and digest, whether every difference met a write that could explain it.
-- - limits_found: whether every statement reached its LIMIT, and whether some did not. If both are false, it is unknown
--   whether the LIMIT was reached.
--
-- A statement reads or writes in places. A place is a whole table, or all rows that have one value in a column. The
-- place is smaller than the table only if the statement uses no other table. The statement must also ask for `column =
-- value`, or insert one row with that value.
--
-- A write is in the places of all its values. For a column that the write changes or does not name, the write is in
-- every place of that column.
--
-- Two values differ for every column type and collation only if both are whole numbers, or both are words of lower-case
-- letters and digits. For all other pairs of values it is unknown whether they differ.
--
-- Input: the suspects_... tables of chosen.sql, and statement_values (row_values.py), whose id is session * 2^31 + seq.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   CREATE TABLE statement_values AS
--       FROM (SELECT 0 AS id, 'column' AS what, 't' AS tbl, 'id' AS name, 'set' AS role, '5' AS value);
--   .read analyze/sql/summary/races.sql
CREATE OR REPLACE TEMP TABLE limits_found AS
SELECT l.kind, l.digest, bool_and(coalesce(l.sent >= v.most, false)) AS all_cut, bool_or(coalesce(l.sent < v.most, false)) AS some_whole
FROM suspects_limited AS l
LEFT JOIN (
    SELECT id // 2147483648 AS session, id % 2147483648 AS seq, TRY_CAST(value AS UBIGINT) AS most FROM statement_values WHERE what = 'limit'
) AS v ON l.session = v.session AND l.seq = v.seq
GROUP BY ALL;

-- Returns i5 for the number 5, wfive for the word "five", and NULL for every other or unknown value.
CREATE OR REPLACE TEMP MACRO value_of(written) AS CASE
    WHEN regexp_full_match(written, '0|-?[1-9]\d{0,14}|''(0|-?[1-9]\d{0,14})''') THEN 'i' || replace(written, '''', '')
    WHEN regexp_full_match(written, '[''"]([a-z][a-z0-9_-]*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})[''"]') THEN 'w' || written[2:-2] END;

-- The values of each column in each statement. 0 in an INSERT means the next id, so the value is unknown.
CREATE OR REPLACE TEMP TABLE raced_values AS
SELECT id // 2147483648 AS session, id % 2147483648 AS seq, name,
    CASE WHEN bool_and(role = 'filter' OR (value_of(value) IS NOT NULL AND value_of(value) <> 'i0')) THEN min(value_of(value)) END AS value
FROM statement_values
WHERE what = 'column'
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE raced_acts AS
SELECT n.tbl, n.alone, a.session, a.seq, bool_or(a.differs) AS differs
FROM suspects_acts AS a
JOIN suspects_tables AS n ON a.digest = n.digest AND n.tbl IN (SELECT tbl FROM suspects_raced)
GROUP BY ALL;

-- The columns by which the differing statements ask for rows, for each table. All values of such a column are of one
-- kind (numbers or words).
CREATE OR REPLACE TEMP TABLE raced_asked AS
SELECT a.tbl, v.name
FROM raced_acts AS a
JOIN raced_values AS v USING (session, seq)
WHERE a.differs AND a.alone
GROUP BY ALL
HAVING count(DISTINCT v.value[1]) = 1;

-- The places of each statement: the whole table (with an empty name), and one place for each of the columns in
-- raced_asked. The value ? means every value of the column.
CREATE OR REPLACE TEMP TABLE raced_places AS
SELECT tbl, session, seq, '' AS name, '?' AS value FROM raced_acts
UNION ALL
SELECT a.tbl, a.session, a.seq, k.name, coalesce(v.value, '?')
FROM raced_acts AS a
JOIN raced_asked AS k ON a.tbl = k.tbl
LEFT JOIN raced_values AS v ON a.alone AND a.session = v.session AND a.seq = v.seq AND k.name = v.name;

-- The places that a statement looks at. These are the places of its values, and the place ? of the column, because a
-- write to the place ? may affect any value. A statement without known values looks at the whole table.
CREATE OR REPLACE TEMP VIEW raced_all_looks AS
SELECT tbl, session, seq, name, unnest([value, '?']) AS value FROM raced_places WHERE value <> '?'
UNION ALL
SELECT p.tbl, p.session, p.seq, p.name, p.value
FROM raced_places AS p
ANTI JOIN (FROM raced_places WHERE value <> '?') AS k USING (tbl, session, seq)
WHERE p.name = '';

-- The places that the differing statements look at, and the places that writes to those places look at. No other write
-- can explain a difference.
CREATE OR REPLACE TEMP TABLE raced_looks AS
WITH seen AS (
    SELECT DISTINCT l.tbl, l.name, l.value FROM raced_all_looks AS l SEMI JOIN (FROM raced_acts WHERE differs) AS a USING (tbl, session, seq)
), near AS (
    SELECT DISTINCT p.tbl, p.session, p.seq FROM raced_places AS p SEMI JOIN seen USING (tbl, name, value)
    UNION
    SELECT tbl, session, seq FROM raced_acts WHERE differs
)
SELECT l.* FROM raced_all_looks AS l SEMI JOIN near USING (tbl, session, seq);

-- The period in which a write can be visible: from its start to the end of its transaction.
CREATE OR REPLACE TEMP TABLE raced_spans AS
SELECT n.tbl, w.digest, w.round, w.session, w.clone, w.seq, w.writes, w.differs, w.kind,
    unnest([
        {'side': 'old', 'sent': w.old_sent, 'done': w.old_done, 'seen': greatest(w.old_done, e.old_done)},
        {'side': 'new', 'sent': w.new_sent, 'done': w.new_done, 'seen': greatest(w.new_done, e.new_done)}], recursive := true)
FROM suspects_acts AS w
JOIN suspects_tables AS n ON w.digest = n.digest AND n.tbl IN (SELECT tbl FROM suspects_raced)
ASOF LEFT JOIN suspects_ends AS e ON w.round = e.round AND w.session = e.session AND w.clone = e.clone AND w.seq < e.seq;

CREATE OR REPLACE TEMP MACRO session_of(span) AS span.session::BIGINT * 1000000 + span.clone;

-- The key of a counter. The key is a 64-bit hash, because comparing the names takes longer.
CREATE OR REPLACE TEMP MACRO counted_as(tbl, name, value, round, side, what, own) AS hash(tbl, name, value, round, side, what, own);

-- Two counts at each moment: the writes that had begun, and the writes that had ended. Both are counted for all
-- sessions together and for each session.
CREATE OR REPLACE TEMP TABLE raced_marks AS
SELECT counted, moment, count(*) OVER (PARTITION BY counted ORDER BY moment) AS n
FROM (
    SELECT unnest([
            {'counted': counted_as(p.tbl, p.name, p.value, s.round, s.side, 'begun', -1), 'moment': s.sent},
            {'counted': counted_as(p.tbl, p.name, p.value, s.round, s.side, 'begun', session_of(s)), 'moment': s.sent},
            {'counted': counted_as(p.tbl, p.name, p.value, s.round, s.side, 'over', -1), 'moment': s.seen},
            {'counted': counted_as(p.tbl, p.name, p.value, s.round, s.side, 'over', session_of(s)), 'moment': s.seen}
        ], recursive := true)
    FROM raced_spans AS s
    JOIN (
        FROM raced_places SEMI JOIN (SELECT DISTINCT tbl, name, value FROM raced_looks) AS l USING (tbl, name, value)
    ) AS p USING (tbl, session, seq)
    WHERE s.writes AND s.sent IS NOT NULL
) AS marks;

CREATE OR REPLACE TEMP TABLE raced_neighbours AS
SELECT tbl, name, digest, round, session, clone, seq, writes, differs, kind, max(sent) FILTER (side = 'new') AS sent,
    coalesce(sum(n * sign) FILTER (what = 'over' AND side = 'old'), 0) AS old_over,
    coalesce(sum(n * sign) FILTER (what = 'over' AND side = 'new'), 0) AS new_over,
    coalesce(sum(n * sign) FILTER (what = 'begun' AND side = 'old'), 0) AS old_begun,
    coalesce(sum(n * sign) FILTER (what = 'begun' AND side = 'new'), 0) AS new_begun
FROM (
    SELECT l.*, m.n
    FROM (
        SELECT s.tbl, k.name, s.digest, s.round, s.session, s.clone, s.seq, s.writes, s.differs, s.kind, s.side, s.sent, unnest([
                {'what': 'over', 'sign': 1, 'moment': s.sent, 'counted': counted_as(s.tbl, k.name, k.value, s.round, s.side, 'over', -1)},
                {'what': 'over', 'sign': -1, 'moment': s.sent, 'counted': counted_as(s.tbl, k.name, k.value, s.round, s.side, 'over', session_of(s))},
                {'what': 'begun', 'sign': 1, 'moment': s.done, 'counted': counted_as(s.tbl, k.name, k.value, s.round, s.side, 'begun', -1)},
                {'what': 'begun', 'sign': -1, 'moment': s.done, 'counted': counted_as(s.tbl, k.name, k.value, s.round, s.side, 'begun', session_of(s))}
            ], recursive := true)
        FROM raced_spans AS s
        JOIN raced_looks AS k USING (tbl, session, seq)
    ) AS l
    ASOF LEFT JOIN raced_marks AS m ON l.counted = m.counted AND l.moment >= m.moment
) AS found
GROUP BY ALL;

-- `touched`: a write of another session in this place overlaps with the statement, or came before the statement on only
-- one side. A race must touch every place that the statement looks at.
CREATE OR REPLACE TEMP VIEW raced_touched AS
SELECT *, old_over <> new_over OR old_begun > old_over OR new_begun > new_over AS touched FROM raced_neighbours;

-- The first write in each place that raced with another write. After this write, the table may have different rows.
CREATE OR REPLACE TEMP TABLE raced_since AS
SELECT p.tbl, p.name, p.value, w.round, min(w.sent) AS since
FROM (
    SELECT tbl, round, session, clone, seq, any_value(sent) AS sent FROM raced_touched WHERE writes GROUP BY ALL HAVING bool_and(touched)
) AS w
JOIN raced_places AS p USING (tbl, session, seq)
GROUP BY ALL;

-- A difference is a race if the execution met writes in every place that the statement looks at in one of its tables.
CREATE OR REPLACE TEMP TABLE races_found AS
WITH looked AS (
    SELECT t.kind, t.digest, t.tbl, t.name, t.round, t.session, t.clone, t.seq, bool_or(t.touched OR coalesce(t.sent > w.since, false)) AS met
    FROM raced_touched AS t
    JOIN raced_looks AS k USING (tbl, session, seq, name)
    LEFT JOIN raced_since AS w ON k.tbl = w.tbl AND k.name = w.name AND k.value = w.value AND t.round = w.round
    WHERE t.differs AND t.digest IN (SELECT digest FROM suspects_raced)
    GROUP BY ALL
), in_tables AS (
    SELECT kind, digest, tbl, round, session, clone, seq, bool_and(met) AS met FROM looked GROUP BY ALL
), events AS (
    SELECT kind, digest, round, session, clone, seq, bool_or(met) AS met FROM in_tables GROUP BY ALL
)
SELECT kind, digest, bool_and(met) AS raced
FROM events
GROUP BY ALL;

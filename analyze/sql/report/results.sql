-- SPDX-License-Identifier: Apache-2.0
-- Which events, answered without an error on both sides, have another result? Per digest and kind:
--   rows      another number of rows was sent                 affected  another number of rows was changed
--   data      as many rows, with other data (checksums)            order     the same rows in another order
--   warnings  another number of warnings
-- `known`: why that may be so on two servers that are both right; NULL = no such reason is in the statement.
-- `reason`: the same, else what else explains it: B's GROUP BY no longer sorts, ties, or a write to one of its tables that failed or changed
--   other rows on one side before all of these events; or, where nothing else does, writes of other sessions (variable writes_race: they
--   were sent, without --order commit). `after_write`: how many of the events came after such a write.
-- With two runs the reference is a; with one it is the tape, where it knows. Input: joined, matched_events, digest_texts.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/results.sql
CREATE OR REPLACE TEMP TABLE results_spoiled AS
SELECT round, digest, min(start_ns) AS since
FROM joined
WHERE digest IS NOT NULL AND (
    (class IN ('write', 'ddl') AND a_status = 'executed' AND b_status = 'executed' AND (a_errno <> 0) <> (b_errno <> 0))
    OR (class IN ('write', 'ddl') AND a_status = 'executed' AND a_errno <> 0 AND getvariable('b') IS NULL AND tape_errno = 0)
    OR (matched AND kind = 'affected'))
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW table_names AS
SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl FROM digest_texts;

CREATE OR REPLACE TEMP TABLE results_counts AS
SELECT m.kind AS kind, m.digest AS digest,
    count(*) AS events,
    count(*) FILTER (m.start_ns > s.since) AS after_write,
    sum(m.more_sent)::BIGINT AS more_sent,
    min({'session': m.session, 'seq': m.seq}) AS first
FROM matched_events AS m
LEFT JOIN (
    SELECT n.digest, s.round, min(s.since) AS since
    FROM table_names AS n
    JOIN table_names AS w ON n.tbl = w.tbl
    JOIN results_spoiled AS s ON s.digest = w.digest
    GROUP BY ALL
) AS s ON m.digest = s.digest AND m.round = s.round
WHERE m.kind IS NOT NULL
GROUP BY ALL;

WITH raced AS ( -- whose tables are written, by sessions whose order nobody keeps
    SELECT DISTINCT n.digest
    FROM table_names AS n
    WHERE getvariable('writes_race') AND n.tbl IN (
        SELECT w.tbl
        FROM table_names AS w
        JOIN tape_digest AS t ON w.digest = TRY_CAST(t.digest AS digest_name)
        WHERE t.class = 'write')
), counted AS (
    SELECT c.*, d.known, d.normalized AS text FROM results_counts AS c LEFT JOIN digest_texts AS d ON c.digest = d.digest
)
SELECT kind, digest, known, CASE
        WHEN known IS NOT NULL THEN known
        WHEN after_write = events THEN 'an earlier write to its tables failed on one side'
        WHEN kind = 'warnings' THEN NULL
        WHEN getvariable('sort_lost') AND regexp_matches(text, '\bgroup by\b') AND NOT regexp_matches(text, '\border by\b')
            AND (kind = 'order' OR regexp_matches(text, '\blimit\b')) THEN 'GROUP BY no longer sorts'
        WHEN kind = 'order' AND regexp_matches(text, '\border by\b') THEN 'ties in ORDER BY, or another collation'
        WHEN kind = 'order' THEN 'rows without ORDER BY'
        WHEN kind = 'data' AND regexp_matches(text, '\border by\b.*\blimit\b') THEN 'perhaps ties in ORDER BY under LIMIT'
        WHEN kind = 'data' AND contains(text, 'group_concat') AND NOT regexp_matches(text, '\border by\b') THEN 'GROUP_CONCAT without ORDER BY'
        WHEN digest IN (FROM raced) THEN 'perhaps writes of other sessions, whose order is not kept'
    END AS reason,
    events, after_write, more_sent, first.session AS first_session, first.seq AS first_seq
FROM counted
ORDER BY list_position(['rows', 'data', 'affected', 'order', 'warnings'], kind), events DESC, digest

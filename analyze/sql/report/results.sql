-- SPDX-License-Identifier: Apache-2.0
-- Which events, answered without an error on both sides, have another result? Per digest and kind:
--   rows      another number of rows was sent                 affected  another number of rows was changed
--   data      as many rows, with other data (checksums)            order     the same rows in another order
--   warnings  another number of warnings
-- `known`: why that may be so on two servers that are both right; NULL = no such reason is in the statement.
-- `reason`: the same, else what else explains it: B's GROUP BY no longer sorts, ties, or a write to one of its tables that failed or changed
--   other rows on one side before all of these events; or, where nothing else does, writes of other sessions (variable writes_race: they
--   were sent, without --order commit). `after_write`: how many of the events came after such a write.
-- With two runs the reference is a; with one it is the tape, where it knows. Input: matched_events, digest_texts, outcome.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/results.sql
WITH failed AS (
    SELECT session, seq, clone, round, run, digest, start_ns, tape_errno
    FROM outcome
    WHERE status = 'executed' AND errno <> 0 AND class IN ('write', 'ddl')
), one_sided AS (
    SELECT f.round, f.digest, f.start_ns
    FROM failed AS f
    JOIN outcome AS o ON o.session = f.session AND o.seq = f.seq AND o.clone = f.clone AND o.round = f.round AND o.run <> f.run
    WHERE o.status = 'executed' AND o.errno = 0
    UNION ALL
    SELECT round, digest, start_ns FROM failed WHERE getvariable('b') IS NULL AND tape_errno = 0
    UNION ALL
    SELECT round, digest, start_ns FROM matched_events WHERE kind = 'affected'
), table_names AS (
    SELECT DISTINCT digest, lower(regexp_extract(replace(unnest(tables), '`', ''), '[^.]*$')) AS tbl FROM digest_texts
), spoiled AS (
    SELECT w.round, n.tbl, min(w.start_ns) AS since FROM one_sided AS w JOIN table_names AS n ON w.digest = n.digest GROUP BY ALL
), since AS (
    SELECT n.digest, s.round, min(s.since) AS since FROM table_names AS n JOIN spoiled AS s ON n.tbl = s.tbl GROUP BY ALL
), raced AS ( -- whose tables are written, by sessions whose order nobody keeps
    SELECT DISTINCT n.digest
    FROM table_names AS n
    WHERE getvariable('writes_race') AND n.tbl IN (
        SELECT w.tbl
        FROM table_names AS w
        JOIN tape_digest AS t ON w.digest = TRY_CAST(t.digest AS digest_name)
        WHERE t.class = 'write')
), counted AS (
    SELECT m.kind, m.digest, any_value(d.known) AS known, any_value(d.normalized) AS text, count(*) AS events,
        count(*) FILTER (m.start_ns > s.since) AS after_write, sum(m.more_sent)::BIGINT AS more_sent,
        arg_min(m.session, (m.session, m.seq)) AS first_session, arg_min(m.seq, (m.session, m.seq)) AS first_seq
    FROM matched_events AS m
    LEFT JOIN digest_texts AS d ON m.digest = d.digest
    LEFT JOIN since AS s ON m.digest = s.digest AND m.round = s.round
    WHERE m.kind IS NOT NULL
    GROUP BY m.kind, m.digest
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
    events, after_write, more_sent, first_session, first_seq
FROM counted
ORDER BY list_position(['rows', 'data', 'affected', 'order', 'warnings'], kind), events DESC, digest

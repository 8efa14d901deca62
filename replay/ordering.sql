-- SPDX-License-Identifier: Apache-2.0
-- What does each event wait for, and which commit is it? session, seq, waits: "table:count ...;table:number ...".
-- Input: tables order_events (what is sent, with its transaction), digest_tables, known_digests with `locks` (ordering.py: table 0
-- all, 1 unknown); view transactions; variables precision_ns, whole_seconds, overlap_ns, tolerance_ns.
--
-- A commit has its moment, by which the commits of a table are numbered: for COMMIT and ROLLBACK their start (locks go between that
-- and their end), for a write of its own its end (its locks come after its start).
--   a plain read      waits for commits whose moment lay before its start
--   what takes locks  waits for those whose moment lay before its end (and tolerance_ns), for it may have waited for their locks; but
--                     only for lower numbers than its own transaction's: of two that wanted the same lock, the first to commit had it
--                     first. Where it took longer than overlap_ns: as a plain read
--   a commit          waits for lower numbers alone, before its start
-- A log of whole seconds tells the order of the ends and nothing of the beginnings (whole_seconds): there every moment is an end, the
-- tolerance is a second, and what lay before a start is what lay before the end of its session's event before.
-- A statement waits for commits of lower numbers than its own transaction's, and so on down: the plan has no circles.
WITH timed AS ( -- sure_ns: what ended before this had ended before the event began
    SELECT *, CASE
        WHEN getvariable('whole_seconds') THEN coalesce(lag(end_ns) OVER (PARTITION BY session ORDER BY seq), 0)
        ELSE start_ns - getvariable('precision_ns')
        END AS sure_ns
    FROM order_events
), ends AS ( -- the COMMIT or ROLLBACK of each transaction, where it is sent
    SELECT x.session, x.first_seq, e.seq, e.sure_ns,
        CASE WHEN getvariable('whole_seconds') THEN e.end_ns ELSE e.start_ns END AS moment_ns
    FROM transactions x
    JOIN timed e ON e.session = x.session AND e.seq = x.last_seq
    WHERE e.class IN ('transaction', 'session')
), touched AS ( -- which tables each statement touches; one whose digest nobody knows may touch any
    SELECT e.session, e.seq, e.start_ns, e.end_ns, e.sure_ns, e.class, e.tx_seq,
        CASE
            WHEN e.class = 'ddl' OR (e.class = 'write' AND e.tx_seq IS NULL) THEN e.seq
            ELSE x.seq
        END AS commit_seq,
        e.class IN ('write', 'ddl') OR coalesce(k.locks, true) AS locks,
        coalesce(d.table_no, CASE WHEN k.digest IS NULL AND e.class NOT IN ('session', 'transaction') THEN 1 END) AS table_no
    FROM timed e
    LEFT JOIN ends x ON e.session = x.session AND e.tx_seq = x.first_seq
    LEFT JOIN known_digests k ON e.digest = k.digest
    LEFT JOIN digest_tables d ON e.digest = d.digest
), released AS ( -- (commit, table)
    SELECT DISTINCT session, seq, sure_ns, table_no, true AS own, end_ns AS moment_ns
    FROM touched
    WHERE table_no IS NOT NULL AND commit_seq = seq
    UNION ALL BY NAME
    SELECT DISTINCT c.session, c.seq, c.sure_ns, t.table_no, false AS own, c.moment_ns
    FROM touched t
    JOIN ends c ON t.session = c.session AND t.tx_seq = c.first_seq
    WHERE t.table_no IS NOT NULL AND t.locks AND t.class <> 'ddl'
), commits AS (
    SELECT session, seq, table_no, moment_ns,
        row_number() OVER (PARTITION BY table_no ORDER BY moment_ns, session, seq) AS number
    FROM (
        FROM released
        UNION ALL BY NAME
        SELECT DISTINCT ON (session, seq) session, seq, moment_ns, 0 AS table_no
        FROM released
        WHERE EXISTS (FROM touched WHERE table_no = 1)
    )
), limits AS ( -- up to when commits are waited for
    SELECT session, seq, commit_seq, table_no,
        CASE
            WHEN locks AND end_ns - start_ns <= getvariable('overlap_ns') THEN end_ns + getvariable('tolerance_ns')
            ELSE sure_ns
        END AS until_ns
    FROM touched
    WHERE table_no IS NOT NULL
    UNION ALL BY NAME
    SELECT session, seq, seq AS commit_seq, table_no, sure_ns AS until_ns
    FROM released
    WHERE NOT own
), asked AS ( -- who knows nothing waits for all; everyone waits for those who know nothing
    SELECT session, seq, any_value(commit_seq) AS commit_seq, CASE WHEN table_no = 1 THEN 0 ELSE table_no END AS table_no,
        max(until_ns) AS until_ns
    FROM limits
    GROUP BY session, seq, CASE WHEN table_no = 1 THEN 0 ELSE table_no END
    UNION ALL BY NAME
    SELECT session, seq, any_value(commit_seq) AS commit_seq, 1 AS table_no, max(until_ns) AS until_ns
    FROM limits
    WHERE table_no > 1 AND EXISTS (FROM released WHERE table_no = 1)
    GROUP BY session, seq
), counted AS (
    SELECT a.session, a.seq, a.table_no, least(c.number, coalesce(o.number - 1, c.number)) AS number
    FROM asked a
    ASOF JOIN commits c ON a.table_no = c.table_no AND a.until_ns >= c.moment_ns
    LEFT JOIN commits o ON a.session = o.session AND a.commit_seq = o.seq AND a.table_no = o.table_no
), waiting AS (
    SELECT session, seq, string_agg(table_no || ':' || number, ' ' ORDER BY table_no) AS waits
    FROM counted
    WHERE number > 0
    GROUP BY session, seq
), done AS (
    SELECT session, seq, string_agg(table_no || ':' || number, ' ' ORDER BY table_no) AS marks
    FROM commits
    GROUP BY session, seq
)
SELECT session, seq, coalesce(w.waits, '') || coalesce(';' || d.marks, '') AS waits
FROM waiting w
FULL JOIN done d USING (session, seq)
ORDER BY session, seq

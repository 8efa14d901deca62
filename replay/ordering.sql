-- SPDX-License-Identifier: Apache-2.0
-- What does each event wait for, and which commit is it? session, seq, waits: "table:count ...;table:number ...".
-- Input: tables order_events (what is sent, with its transaction), digest_tables, known_digests (ordering.py: table 0 all, 1
-- unknown); view transactions; variable precision_ns.
WITH touched AS ( -- which tables each statement touches; one whose digest nobody knows may touch any
    SELECT e.session, e.seq, e.start_ns, e.end_ns, e.class, e.tx_seq,
        coalesce(d.table_no, CASE WHEN k.digest IS NULL AND e.class NOT IN ('session', 'transaction') THEN 1 END) AS table_no
    FROM order_events e
    LEFT JOIN known_digests k ON e.digest = k.digest
    LEFT JOIN digest_tables d ON e.digest = d.digest
), ends AS ( -- the COMMIT of each transaction, where it is sent
    SELECT x.session, x.first_seq, e.seq, e.start_ns, e.end_ns
    FROM transactions x
    JOIN order_events e ON e.session = x.session AND e.seq = x.last_seq
    WHERE x.committed
), written AS ( -- (commit, table)
    SELECT DISTINCT session, seq, start_ns, end_ns, table_no
    FROM touched
    WHERE table_no IS NOT NULL AND (class = 'ddl' OR (class = 'write' AND tx_seq IS NULL))
    UNION
    SELECT c.session, c.seq, c.start_ns, c.end_ns, t.table_no
    FROM touched t
    JOIN ends c ON t.session = c.session AND t.tx_seq = c.first_seq
    WHERE t.table_no IS NOT NULL AND t.class = 'write'
), commits AS (
    SELECT session, seq, start_ns, end_ns, table_no,
        row_number() OVER (PARTITION BY table_no ORDER BY end_ns, session, seq) AS number
    FROM (
        FROM written
        UNION ALL BY NAME
        SELECT DISTINCT session, seq, start_ns, end_ns, 0 AS table_no
        FROM written
        WHERE EXISTS (FROM touched WHERE table_no = 1)
    )
), asked AS ( -- (event, table): who knows nothing waits for all; everyone waits for those who know nothing
    SELECT session, seq, start_ns, CASE WHEN table_no = 1 THEN 0 ELSE table_no END AS table_no
    FROM touched WHERE table_no IS NOT NULL
    UNION
    SELECT session, seq, start_ns, 1 FROM touched
    WHERE table_no > 1 AND EXISTS (FROM written WHERE table_no = 1)
    UNION
    SELECT session, seq, start_ns, CASE WHEN table_no = 1 THEN 0 ELSE table_no END FROM written -- a COMMIT, for its order
), waiting AS (
    SELECT a.session, a.seq, string_agg(a.table_no || ':' || c.number, ' ' ORDER BY a.table_no) AS waits
    FROM asked a
    ASOF JOIN commits c ON a.table_no = c.table_no AND a.start_ns - getvariable('precision_ns') >= c.end_ns
    GROUP BY a.session, a.seq
), done AS (
    SELECT session, seq, string_agg(table_no || ':' || number, ' ' ORDER BY table_no) AS marks
    FROM commits
    GROUP BY session, seq
)
SELECT session, seq, coalesce(w.waits, '') || coalesce(';' || d.marks, '') AS waits
FROM waiting w
FULL JOIN done d USING (session, seq)
ORDER BY session, seq

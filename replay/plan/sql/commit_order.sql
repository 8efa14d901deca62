-- SPDX-License-Identifier: Apache-2.0
-- What does each event wait for, and which commit is it? session, seq, waits: "place:count ...;place:number ...".
-- Inputs: tables order_events (what is sent, with its transaction), digest_tables (with asks, adds), known_digests
-- (commit_order.py: table 0 all, 1 unknown); view transactions; variables precision_ns, overlap_ns, and times: which of
-- an event's times the tape knows (commit_order.py: both, ends, arrivals).
-- By hand: `commit_order.order_commits(con, plan, catalog)`; the answer is the plan's `order.parquet`.
--
-- The rules, their proof and drawings are in docs/order.md; the numbers below are its numbers.
-- place = 3 * table + kind. Kind 0: commits; 1: statements of transactions that have their locks; 2: those that add rows.
-- Lists are sorted as one number each, place * 2^40 + number: strings in order cost twice the time.
-- What is read more than once is MATERIALIZED: DuckDB would compute it again each time.
WITH timed AS MATERIALIZED ( -- 1: each event began after lo_ns and had ended by hi_ns; of a session none overlap
    SELECT * EXCLUDE (before_ns),
        CASE getvariable('times') WHEN 'ends' THEN before_ns WHEN 'arrivals' THEN start_ns
            ELSE greatest(start_ns - getvariable('precision_ns'), before_ns) END AS lo_ns,
        CASE getvariable('times') WHEN 'arrivals' THEN end_ns ELSE greatest(end_ns, before_ns) END AS hi_ns,
        end_ns - start_ns > getvariable('overlap_ns') AS is_long
    FROM (
        SELECT *, coalesce(max(end_ns) OVER (
            PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_ns
        FROM order_events
    )
), ends AS MATERIALIZED ( -- the event that ends each transaction, where it is sent
    SELECT x.session, x.first_seq, e.seq, e.lo_ns, e.hi_ns
    FROM transactions x
    JOIN timed e ON e.session = x.session AND e.seq = x.end_seq
), touched AS MATERIALIZED ( -- the tables of each statement; without a known digest: any; of a deadlock's victim: none
    SELECT * REPLACE (asks AND locks AS asks, adds AND locks AS adds), is_own OR tx_seq IS NULL AND locks AS alone
    FROM (
        SELECT e.session, e.seq, e.at_ns, e.start_ns, e.lo_ns, e.hi_ns, e.is_long, e.class, e.tx_seq,
            e.class = 'ddl' AND has_action(e.actions, 'implicit_commit') AS is_own,
            e.class IN ('write', 'ddl') OR k.digest IS NULL OR has_action(e.actions, 'locking_read') AS locks,
            coalesce(d.asks, true) AS asks, coalesce(d.adds, true) AS adds,
            coalesce(d.table_no, CASE WHEN k.digest IS NULL AND e.class NOT IN ('session', 'transaction') THEN 1 END) AS table_no
        FROM timed e
        LEFT JOIN ends x ON e.session = x.session AND e.tx_seq = x.first_seq
        LEFT JOIN known_digests k ON e.digest = k.digest
        LEFT JOIN digest_tables d ON e.digest = d.digest
        WHERE x.seq IS DISTINCT FROM e.seq
    )
    WHERE table_no IS NOT NULL
), held AS MATERIALIZED ( -- locks of transactions
    SELECT t.session, t.seq, t.table_no, t.lo_ns, t.hi_ns, t.is_long, t.asks, t.adds,
        c.seq AS commit_seq, c.lo_ns AS commit_ns, c.hi_ns AS seen_ns
    FROM touched t
    LEFT JOIN ends c ON t.session = c.session AND t.tx_seq = c.first_seq
    WHERE t.locks AND NOT t.alone
), closed AS MATERIALIZED ( -- 2: a transaction's commit has its moment when it may begin
    SELECT session, commit_seq AS seq, table_no, commit_ns AS moment_ns, any_value(seen_ns) AS seen_ns, min(lo_ns) AS lo_ns
    FROM held
    WHERE commit_seq IS NOT NULL
    GROUP BY session, commit_seq, table_no, commit_ns
), since AS ( -- 3: a write of its own may have waited for the last transaction that ended before it
    SELECT w.session, w.seq, greatest(any_value(w.lo_ns), coalesce(max(c.moment_ns), 0)) AS since_ns
    FROM touched w
    ASOF LEFT JOIN (SELECT DISTINCT table_no, moment_ns FROM closed) c ON w.table_no = c.table_no AND w.hi_ns > c.moment_ns
    WHERE w.alone AND getvariable('times') <> 'arrivals'
    GROUP BY w.session, w.seq
), before AS ( -- and had its locks before what got some behind that, while it ran
    SELECT w.session, w.seq, min(h.hi_ns) - 1 AS moment_ns
    FROM (FROM touched JOIN since USING (session, seq) WHERE alone) w
    ASOF JOIN (SELECT DISTINCT table_no, hi_ns FROM held) h ON w.table_no = h.table_no AND w.since_ns < h.hi_ns
    WHERE h.hi_ns < w.hi_ns
    GROUP BY w.session, w.seq
    UNION ALL BY NAME -- 4: arrivals: behind the transactions that were open when it arrived, and ended before the session's next
    SELECT w.session, w.seq, max(c.moment_ns) + 1 AS moment_ns
    FROM touched w
    JOIN closed c ON w.table_no = c.table_no AND c.lo_ns < w.at_ns AND c.moment_ns > w.at_ns AND c.moment_ns < w.hi_ns
    WHERE w.alone AND getvariable('times') = 'arrivals'
    GROUP BY w.session, w.seq
), released AS MATERIALIZED ( -- all commits of each table
    SELECT session, seq, table_no, lo_ns, is_long, moment_ns,
        CASE getvariable('times') WHEN 'arrivals' THEN moment_ns ELSE seen_ns END AS seen_ns
    FROM (
        SELECT t.session, t.seq, t.table_no, t.lo_ns, t.is_long, t.hi_ns AS seen_ns,
            coalesce(b.moment_ns, CASE getvariable('times') WHEN 'arrivals' THEN t.at_ns ELSE t.hi_ns END) AS moment_ns
        FROM touched t
        LEFT JOIN before b USING (session, seq)
        WHERE t.alone
        UNION ALL BY NAME
        SELECT session, seq, table_no, moment_ns AS lo_ns, false AS is_long, moment_ns, seen_ns
        FROM closed
    )
), firsts AS MATERIALIZED ( -- DDL that ends a transaction has two moments, and can wait only for what lies before the first
    SELECT session, seq, min(moment_ns) AS first_ns, bool_or(is_long) AS is_long FROM released GROUP BY session, seq
), granted AS MATERIALIZED ( -- 7: what adds rows has its locks when the last ended that it may have waited for
    SELECT a.session, a.seq, least(any_value(a.hi_ns), greatest(any_value(a.lo_ns), coalesce(max(c.moment_ns), 0) + 1)) AS granted_ns
    FROM (
        SELECT session, seq, lo_ns, hi_ns, CASE WHEN table_no = 1 THEN 0 ELSE table_no END AS table_no FROM held WHERE adds
        UNION ALL BY NAME
        SELECT DISTINCT session, seq, lo_ns, hi_ns, 1 AS table_no FROM held WHERE adds AND table_no > 1
    ) a
    ASOF LEFT JOIN (
        SELECT DISTINCT table_no, moment_ns FROM released
        UNION ALL BY NAME
        SELECT DISTINCT 0 AS table_no, moment_ns FROM released WHERE EXISTS (FROM touched WHERE table_no = 1)
    ) c ON a.table_no = c.table_no AND a.hi_ns > c.moment_ns
    WHERE getvariable('times') <> 'arrivals'
    GROUP BY a.session, a.seq
), long_tables AS MATERIALIZED ( -- 8: where a statement took longer than one is taken to wait for locks
    SELECT DISTINCT table_no FROM touched WHERE locks AND is_long
), marks AS MATERIALIZED (
    SELECT session, seq, table_no, 0 AS kind, moment_ns, seen_ns, lo_ns FROM released
    UNION ALL BY NAME
    SELECT session, seq, table_no, 1 AS kind, hi_ns AS moment_ns, lo_ns
    FROM held
    WHERE table_no IN (FROM long_tables) OR EXISTS (FROM long_tables WHERE table_no = 1)
    UNION ALL BY NAME
    SELECT session, seq, table_no, 2 AS kind, coalesce(granted_ns, hi_ns) AS moment_ns, lo_ns
    FROM held
    LEFT JOIN granted USING (session, seq)
    WHERE adds
), numbered AS MATERIALIZED ( -- 5
    SELECT session, seq, table_no, kind, moment_ns, seen_ns,
        row_number() OVER (PARTITION BY table_no, kind ORDER BY moment_ns, lo_ns, session, seq) AS number
    FROM (
        FROM marks
        UNION ALL BY NAME
        SELECT session, seq, 0 AS table_no, kind, moment_ns, any_value(seen_ns) AS seen_ns, any_value(lo_ns) AS lo_ns
        FROM marks
        WHERE EXISTS (FROM touched WHERE table_no = 1)
        GROUP BY session, seq, kind, moment_ns
    )
), reads AS MATERIALIZED ( -- 6: plain reads, and what else takes no locks
    SELECT t.session, t.seq, t.tx_seq, t.table_no, t.class, t.hi_ns, -- of what is a commit, too: not beyond that
        CASE WHEN e.seq IS NOT NULL THEN t.lo_ns - 1 WHEN getvariable('times') = 'ends' THEN least(t.hi_ns - 1, greatest(t.lo_ns, t.start_ns))
            ELSE least(t.hi_ns - 1, t.lo_ns) END AS until_ns
    FROM touched t
    LEFT JOIN ends e USING (session, seq)
    WHERE NOT t.locks
), limits AS MATERIALIZED ( -- up to when they are waited for; of reads by when they were seen
    SELECT session, seq, table_no, 0 AS kind, false AS is_read, CASE WHEN is_long THEN lo_ns ELSE hi_ns END - 1 AS until_ns
    FROM held
    UNION ALL BY NAME
    SELECT session, seq, table_no, 0 AS kind, false AS is_read, CASE WHEN r.is_long THEN lo_ns ELSE first_ns END - 1 AS until_ns
    FROM released r
    JOIN firsts f USING (session, seq)
    WHERE r.is_long OR moment_ns > first_ns
    UNION ALL BY NAME
    SELECT session, seq, table_no, 1 AS kind, false AS is_read, lo_ns - 1 AS until_ns
    FROM touched
    WHERE locks AND is_long
    UNION ALL BY NAME
    SELECT session, seq, table_no, 2 AS kind, false AS is_read,
        CASE WHEN is_long THEN lo_ns WHEN adds THEN coalesce(granted_ns, hi_ns) ELSE hi_ns END - 1 AS until_ns
    FROM held
    LEFT JOIN granted USING (session, seq)
    WHERE asks
    UNION ALL BY NAME
    SELECT session, seq, table_no, 0 AS kind, true AS is_read, until_ns
    FROM reads
    UNION ALL BY NAME -- the first read of a transaction decides what all of it sees, and which rows it may lock
    SELECT DISTINCT r.session, r.seq, t.table_no, 0 AS kind, NOT t.locks AS is_read,
        CASE WHEN t.locks THEN r.hi_ns - 1 ELSE r.until_ns END AS until_ns
    FROM (
        SELECT session, tx_seq, min(seq) AS seq, min(until_ns) AS until_ns, min(hi_ns) AS hi_ns
        FROM reads
        WHERE class = 'read'
        GROUP BY session, tx_seq
    ) r
    JOIN touched t ON r.session = t.session AND r.tx_seq = t.tx_seq
    WHERE t.seq > r.seq
), awaited AS ( -- 9: where nothing is known all is waited for; all wait for those of which nothing is known
    SELECT session, seq, CASE WHEN table_no = 1 THEN 0 ELSE table_no END AS table_no, kind, is_read, max(until_ns) AS until_ns
    FROM limits
    GROUP BY ALL
    UNION ALL BY NAME
    SELECT session, seq, 1 AS table_no, kind, is_read, max(until_ns) AS until_ns
    FROM limits
    WHERE table_no > 1 AND EXISTS (FROM marks WHERE table_no = 1)
    GROUP BY ALL
    UNION ALL BY NAME -- a commit that has no number there
    SELECT session, seq, 1 AS table_no, 0 AS kind, false AS is_read, min(moment_ns) - 1 AS until_ns
    FROM released
    WHERE NOT is_long AND EXISTS (FROM marks WHERE table_no = 1)
    GROUP BY session, seq
    HAVING min(table_no) > 1
), counted AS (
    SELECT a.session, a.seq, a.table_no * 3 + a.kind AS place, c.number
    FROM awaited a
    ASOF JOIN (SELECT table_no, kind, moment_ns, max(number) AS number FROM numbered GROUP BY ALL) c
        ON a.table_no = c.table_no AND a.kind = c.kind AND a.until_ns >= c.moment_ns
    WHERE NOT a.is_read
    UNION ALL BY NAME
    SELECT a.session, a.seq, a.table_no * 3 AS place, c.number
    FROM awaited a
    ASOF JOIN (
        SELECT table_no, seen_ns, max(max(number)) OVER (PARTITION BY table_no ORDER BY seen_ns) AS number
        FROM numbered
        WHERE kind = 0
        GROUP BY table_no, seen_ns
    ) c ON a.table_no = c.table_no AND a.until_ns >= c.seen_ns
    WHERE a.is_read
    UNION ALL BY NAME -- 5: a commit waits for the one in front of it
    SELECT n.session, n.seq, n.table_no * 3 AS place, min(n.number) - 1 AS number
    FROM numbered n
    JOIN firsts f USING (session, seq)
    WHERE n.kind = 0 AND n.table_no <> 1 AND n.moment_ns = f.first_ns AND NOT f.is_long
    GROUP BY n.session, n.seq, n.table_no
), waiting AS (
    SELECT session, seq, list((place::BIGINT << 40) + number) AS waits
    FROM (SELECT session, seq, place, max(number) AS number FROM counted GROUP BY ALL)
    WHERE number > 0
    GROUP BY session, seq
), done AS (
    SELECT session, seq, list(((table_no * 3 + kind)::BIGINT << 40) + number) AS marks
    FROM numbered
    GROUP BY session, seq
)
SELECT session, seq, concat(
    array_to_string([(x >> 40) || ':' || (x & 1099511627775) FOR x IN list_sort(w.waits)], ' '),
    ';' || array_to_string([(x >> 40) || ':' || (x & 1099511627775) FOR x IN list_sort(d.marks)], ' ')) AS waits
FROM waiting w
FULL JOIN done d USING (session, seq)
ORDER BY session, seq

-- SPDX-License-Identifier: Apache-2.0
-- What does each event wait for, and which commit is it? session, seq, waits: "place:count ...;place:number ...".
-- Inputs: tables order_events (what is sent, with its transaction), digest_tables (with asks, adds), known_digests
-- (commit_order.py: table 0 all, 1 unknown); view transactions; variables precision_ns, overlap_ns, and times: which of
-- an event's times the tape knows (commit_order.py: both, ends, arrivals).
-- By hand: `commit_order.order_commits(con, plan, catalog)`; the answer is the plan's `order.parquet`.
--
-- A commit has its moment: for COMMIT and ROLLBACK their start (locks go between that and their end), for a write of its
-- own its end (its locks come after its start) - or what lies just before the end of another's locking statement, where
-- that ended within the write and its transaction after it: had both wanted one lock, the write could only end before the
-- transaction by having it first (earlier; not where other transactions ended since, for it may have waited for those).
-- Commits of a table are numbered by their moment (kind 0), and statements that took locks inside a transaction: those
-- that ask for rows by their end (kind 1: UPDATE, DELETE, a locking read), those that add rows (kind 2: INSERT) by when
-- they had their locks (granted: behind the last commit that they may have waited for, at the latest); some do both.
-- Where one adds rows and one asks for some and both transactions were open then, locks of gaps let them by in one order
-- only: what adds went first. Asked for first, the gap were locked, and the INSERT had waited for that transaction.
-- place = 3 * table + kind. Lists are sorted as one number each, place * 2^40 + number: strings in order cost twice the time.
--   a plain read      waits for commits whose moment lay before its start
--                     The first of a transaction decides what its transaction sees of every table (REPEATABLE READ), and,
--                     with innodb_snapshot_isolation, what it may lock: it waits so for all tables of its transaction
--   what takes locks  waits for commits whose moment lay before its end, for it may have waited for their locks; but only
--                     for lower numbers than its own transaction's: of two that wanted the same lock, the first to commit
--                     had it first. And it waits for statements that took locks and had ended before its start; what
--                     asks for rows also for those that added some and had their locks before its end. Where it took
--                     longer than overlap_ns: as a plain read, and what had ended before its start.
--                     Of a transaction, it also waits for a write of its own that it ended within, where the transaction
--                     ended later: had both wanted one lock, the write had it first (let_by). The write's moment need not
--                     be earlier for that, so it may have waited for transactions that ended since; but where others began
--                     to ask for locks since, too, a circle might come of it, and the write keeps its turn.
--   a commit          waits for lower numbers alone, before its start
-- A log of whole seconds tells the order of the ends and nothing of the beginnings (times = ends): there every moment is
-- an end, and what lay before a start is what lay before the end of its session's previous event. For a plain read it is
-- also what lay before its own end less its duration: a COMMIT is logged behind its answer, when other sessions may have
-- begun already. What takes locks waits there for all that took locks and had ended before its end: one that waited for
-- a lock is logged as soon as COMMIT releases it, which is before that COMMIT is logged. A write of its own releases its
-- locks before it is logged, too, so a statement that waited for it may be logged before it: where the write is logged
-- between a transaction's locking statement and another statement of that transaction, it can't have waited for that, so
-- it had the lock first (logged_late; not where it may have waited for a transaction whose last statement lies in between).
-- A general log tells the order of arrival (times = arrivals): end_ns is when the session's next event arrived, and
-- start_ns that of the one before for an Execute, which some servers log when it has ended (at_ns). A write of
-- its own has its arrival for a moment, or what lies just behind the end of a transaction that had locks when it arrived,
-- asked for no more, and ended before the session's next event: the write may have waited for it.
-- What is read more than once is MATERIALIZED: DuckDB would compute it again each time (2 million events: 50 s of CPU in place of 15).
-- Every wait goes back in time, from a statement's end or its commit's moment, whichever is first: the plan has no circles.
WITH timed AS MATERIALIZED ( -- sure_ns: what ended before this had ended before the event began
    SELECT *, CASE
        WHEN getvariable('times') = 'ends' THEN coalesce(lag(end_ns) OVER (PARTITION BY session ORDER BY seq), 0)
        ELSE start_ns - getvariable('precision_ns')
        END AS sure_ns
    FROM order_events
), ends AS MATERIALIZED ( -- the event that ends each transaction, where it is sent
    SELECT x.session, x.first_seq, e.seq, e.sure_ns,
        CASE WHEN getvariable('times') = 'ends' THEN e.end_ns ELSE e.start_ns END AS moment_ns
    FROM transactions x
    JOIN timed e ON e.session = x.session AND e.seq = x.end_seq
), touched AS MATERIALIZED ( -- the tables of each statement; without a known digest: any; of a deadlock's victim: none
    SELECT e.session, e.seq, e.at_ns, e.start_ns, e.end_ns, e.sure_ns, e.class, e.tx_seq, e.digest,
        CASE
            WHEN e.class = 'ddl' AND has_action(e.actions, 'implicit_commit') THEN e.seq
            WHEN e.class IN ('write', 'ddl') AND e.tx_seq IS NULL THEN e.seq
            ELSE x.seq
        END AS commit_seq,
        e.class IN ('write', 'ddl') OR k.digest IS NULL OR has_action(e.actions, 'locking_read') AS locks,
        coalesce(d.asks, true) AS asks, coalesce(d.adds, true) AS adds,
        coalesce(d.table_no, CASE WHEN k.digest IS NULL AND e.class NOT IN ('session', 'transaction') THEN 1 END) AS table_no
    FROM timed e
    LEFT JOIN ends x ON e.session = x.session AND e.tx_seq = x.first_seq
    LEFT JOIN known_digests k ON e.digest = k.digest
    LEFT JOIN digest_tables d ON e.digest = d.digest
    WHERE x.seq IS DISTINCT FROM e.seq
), held AS MATERIALIZED ( -- a transaction's locks: from the end of each statement that took some to the moment of its end
    SELECT c.session, c.seq, c.sure_ns, t.table_no, t.start_ns, t.end_ns, c.moment_ns
    FROM touched t
    JOIN ends c ON t.session = c.session AND t.tx_seq = c.first_seq
    WHERE t.table_no IS NOT NULL AND t.locks AND t.commit_seq IS DISTINCT FROM t.seq
), held_last AS MATERIALIZED ( -- of those that ended at one moment: what ASOF finds is one row, so there must be no second one
    SELECT table_no, end_ns, max(moment_ns) AS moment_ns, max(sure_ns) AS sure_ns FROM held GROUP BY table_no, end_ns
), spans AS MATERIALIZED (
    SELECT session, seq, table_no, start_ns, end_ns, sure_ns, digest
    FROM touched
    WHERE class = 'write' AND tx_seq IS NULL AND table_no IS NOT NULL AND getvariable('times') <> 'arrivals'
), ended AS ( -- the last transaction's end before that of each write
    SELECT w.session, w.seq, max(c.moment_ns) AS moment_ns
    FROM spans w
    ASOF JOIN held c ON w.table_no = c.table_no AND w.end_ns >= c.moment_ns
    GROUP BY w.session, w.seq
), earlier AS ( -- the first locking statement that ended within each write, and since then
    SELECT w.session, w.seq, min(h.end_ns) - 1 AS moment_ns
    FROM (SELECT w.*, greatest(w.start_ns, e.moment_ns) AS since_ns FROM spans w LEFT JOIN ended e USING (session, seq)) w
    ASOF JOIN held_last h ON w.table_no = h.table_no AND w.since_ns < h.end_ns
    WHERE h.end_ns < w.end_ns AND h.moment_ns > w.end_ns AND getvariable('times') = 'both'
    GROUP BY w.session, w.seq
), settled AS ( -- what had ended before a moment, and the last that any of it did before its end
    SELECT table_no, moment_ns, max(sure_ns) OVER (PARTITION BY table_no ORDER BY moment_ns) AS sure_ns
    FROM held
    WHERE getvariable('times') = 'ends'
), quick AS ( -- writes that took no longer than others of their digest waited for nobody
    SELECT session, seq, end_ns - start_ns BETWEEN 1 AND 4 * median(end_ns - start_ns) OVER (PARTITION BY digest) AS is_quick
    FROM spans
    WHERE getvariable('times') = 'ends'
), not_before AS ( -- each write began after this, or may have waited for what its transaction did then
    SELECT w.session, w.seq, greatest(any_value(w.sure_ns), coalesce(max(s.sure_ns), 0),
        coalesce(max(h.sure_ns) FILTER (WHERE NOT q.is_quick), 0)) AS since_ns
    FROM spans w
    JOIN quick q USING (session, seq)
    ASOF LEFT JOIN settled s ON w.table_no = s.table_no AND w.end_ns > s.moment_ns
    ASOF LEFT JOIN held h ON w.table_no = h.table_no AND w.end_ns > h.sure_ns
    GROUP BY w.session, w.seq
), since AS MATERIALIZED (
    FROM spans JOIN not_before USING (session, seq)
), beside AS ( -- of the locking statements since then: the first and the last
    SELECT w.*, h.end_ns AS held_ns, h.sure_ns AS open_ns
    FROM since w ASOF JOIN held_last h ON w.table_no = h.table_no AND w.since_ns < h.end_ns
    UNION ALL BY NAME
    SELECT w.*, h.end_ns AS held_ns, h.sure_ns AS open_ns
    FROM since w ASOF JOIN held_last h ON w.table_no = h.table_no AND w.end_ns > h.end_ns
), logged_late AS (
    SELECT session, seq, min(held_ns) - 1 AS moment_ns
    FROM beside
    WHERE held_ns > since_ns AND held_ns < end_ns AND open_ns > end_ns
    GROUP BY session, seq
), asked AS ( -- a transaction's last locks on each table
    SELECT session, seq, table_no, max(start_ns) AS start_ns, any_value(moment_ns) AS moment_ns FROM held GROUP BY ALL
), behind AS (
    SELECT w.session, w.seq, max(c.moment_ns) AS moment_ns
    FROM touched w
    JOIN asked c ON w.table_no = c.table_no AND c.start_ns < w.at_ns AND c.moment_ns > w.at_ns AND c.moment_ns < w.end_ns
    WHERE getvariable('times') = 'arrivals' AND w.commit_seq = w.seq
    GROUP BY ALL
), moments AS ( -- of writes of their own, where it is not the end
    FROM earlier
    UNION ALL BY NAME
    FROM logged_late
    UNION ALL BY NAME
    SELECT t.session, t.seq, coalesce(
            any_value(b.moment_ns) + row_number() OVER (PARTITION BY any_value(b.moment_ns) ORDER BY t.at_ns, t.session, t.seq),
            t.at_ns) AS moment_ns
    FROM touched t
    LEFT JOIN behind b USING (session, seq)
    WHERE getvariable('times') = 'arrivals' AND t.commit_seq = t.seq
    GROUP BY t.session, t.seq, t.at_ns
), released AS MATERIALIZED ( -- (commit, table)
    SELECT DISTINCT t.session, t.seq, t.sure_ns, t.table_no, true AS own, coalesce(e.moment_ns, t.end_ns) AS moment_ns
    FROM touched t
    LEFT JOIN moments e USING (session, seq)
    WHERE t.table_no IS NOT NULL AND t.commit_seq = t.seq
    UNION ALL BY NAME
    SELECT DISTINCT session, seq, sure_ns, table_no, false AS own, moment_ns
    FROM held
), granted AS MATERIALIZED ( -- what adds rows: when it had its locks, for nothing that it may have waited for ended later
    SELECT a.session, a.seq,
        least(any_value(a.end_ns), greatest(any_value(a.start_ns), coalesce(max(c.moment_ns), 0) + 1)) AS granted_ns
    FROM (
        SELECT session, seq, start_ns, end_ns, CASE WHEN table_no = 1 THEN 0 ELSE table_no END AS table_no
        FROM touched
        WHERE table_no IS NOT NULL AND locks AND adds
        UNION ALL BY NAME
        SELECT DISTINCT session, seq, start_ns, end_ns, 1 AS table_no
        FROM touched
        WHERE table_no > 1 AND locks AND adds
    ) a
    ASOF LEFT JOIN (
        FROM released
        UNION ALL BY NAME
        SELECT DISTINCT ON (session, seq) * REPLACE (0 AS table_no) FROM released WHERE EXISTS (FROM touched WHERE table_no = 1)
    ) c ON a.table_no = c.table_no AND a.end_ns >= c.moment_ns
    WHERE getvariable('times') = 'both'
    GROUP BY a.session, a.seq
), marks AS MATERIALIZED ( -- kind 0: commits; kinds 1 and 2: statements of transactions that took locks
    SELECT session, seq, table_no, 0 AS kind, moment_ns FROM released
    UNION ALL BY NAME
    SELECT session, seq, table_no, kind, CASE WHEN kind = 2 THEN coalesce(granted_ns, end_ns) ELSE end_ns END AS moment_ns
    FROM touched
    LEFT JOIN granted USING (session, seq)
    JOIN (VALUES (1), (2)) kinds (kind) ON CASE WHEN kind = 1 THEN asks ELSE adds END
    WHERE table_no IS NOT NULL AND locks AND commit_seq IS DISTINCT FROM seq
), numbered AS MATERIALIZED (
    SELECT session, seq, table_no, kind, moment_ns,
        row_number() OVER (PARTITION BY table_no, kind ORDER BY moment_ns, session, seq) AS number
    FROM (
        FROM marks
        UNION ALL BY NAME
        SELECT DISTINCT ON (session, seq, kind) session, seq, kind, moment_ns, 0 AS table_no
        FROM marks
        WHERE EXISTS (FROM touched WHERE table_no = 1)
    )
), reached AS ( -- the highest number up to each moment
    SELECT table_no, kind, moment_ns, max(number) AS number FROM numbered GROUP BY table_no, kind, moment_ns
), own_moments AS MATERIALIZED (
    SELECT session, seq AS commit_seq, min(moment_ns) AS own_ns FROM released GROUP BY session, seq
), opening AS ( -- the first plain read of each transaction
    SELECT session, tx_seq, arg_min({'seq': seq, 'start_ns': start_ns, 'sure_ns': sure_ns, 'commit_seq': commit_seq}, seq) AS reads
    FROM touched
    WHERE tx_seq IS NOT NULL AND class = 'read' AND NOT locks AND table_no IS NOT NULL
    GROUP BY session, tx_seq
), seen AS ( -- and the tables of which it decides what its transaction sees
    SELECT DISTINCT o.session, o.reads.seq AS seq, o.reads.start_ns AS start_ns, o.reads.sure_ns AS sure_ns,
        o.reads.commit_seq AS commit_seq, t.table_no
    FROM opening o
    JOIN touched t ON o.session = t.session AND o.tx_seq = t.tx_seq AND t.seq > o.reads.seq
    WHERE t.table_no IS NOT NULL
), asking AS ( -- statements of transactions that ask for rows and add none, where all tables are known
    SELECT t.session, t.seq, t.commit_seq, t.table_no, t.end_ns, c.moment_ns AS own_ns
    FROM touched t
    JOIN ends c ON t.session = c.session AND t.tx_seq = c.first_seq
    WHERE t.table_no > 1 AND t.locks AND t.asks AND NOT t.adds AND t.commit_seq IS DISTINCT FROM t.seq
        AND getvariable('times') = 'both' AND NOT EXISTS (FROM touched WHERE table_no = 1)
), spanning AS ( -- writes of their own, and the longest so far
    SELECT table_no, start_ns, max(end_ns) AS end_ns, max(max(end_ns)) OVER (PARTITION BY table_no ORDER BY start_ns) AS longest_ns
    FROM spans
    GROUP BY table_no, start_ns
), spanned AS ( -- that ended within a write, and their transaction after it
    SELECT a.*, until_ns
    FROM (
        SELECT a.*, unnest([w.end_ns, w.longest_ns]) AS until_ns
        FROM asking a
        ASOF JOIN spanning w ON a.table_no = w.table_no AND a.end_ns > w.start_ns
    ) a
    WHERE until_ns > end_ns AND until_ns < own_ns
), turns AS ( -- statements that take locks, as they begin, and how often the session changed
    SELECT session, sure_ns, sum(is_other) OVER by_start AS turn
    FROM (
        SELECT session, seq, sure_ns, (session IS DISTINCT FROM lag(session) OVER by_start)::INTEGER AS is_other
        FROM (SELECT session, seq, any_value(sure_ns) AS sure_ns FROM touched WHERE locks AND table_no IS NOT NULL GROUP BY session, seq)
        WINDOW by_start AS (ORDER BY sure_ns, session, seq)
    )
    WINDOW by_start AS (ORDER BY sure_ns, session, seq)
), begun AS ( -- and when the next one of another session began; where several begin at one moment, there is no one session
    SELECT t.sure_ns, CASE WHEN min(t.session) = max(t.session) THEN min(t.session) END AS session, max(n.other_ns) AS other_ns
    FROM turns t
    JOIN (SELECT turn, lead(min(sure_ns)) OVER (ORDER BY turn) AS other_ns FROM turns GROUP BY turn) n USING (turn)
    GROUP BY t.sure_ns
), disputed AS ( -- what adds rows while another asks for some: that one may wait for it
    SELECT a.session, a.start_ns
    FROM touched a
    ASOF JOIN (
        SELECT table_no, start_ns, max(end_ns) OVER (PARTITION BY table_no ORDER BY start_ns) AS end_ns
        FROM touched
        WHERE table_no IS NOT NULL AND locks AND asks
    ) z ON a.table_no = z.table_no AND a.start_ns > z.start_ns
    WHERE a.locks AND a.adds AND z.end_ns > a.start_ns
), let_by AS ( -- that may wait for the write without a circle: up to its end nobody else begins to ask for locks
    SELECT s.session, s.seq, s.commit_seq, s.table_no, s.until_ns
    FROM spanned s
    ASOF LEFT JOIN begun b ON s.end_ns <= b.sure_ns
    ASOF LEFT JOIN disputed d ON s.session = d.session AND s.end_ns <= d.start_ns
    WHERE (b.sure_ns IS NULL OR CASE WHEN b.session = s.session THEN coalesce(b.other_ns, 1::BIGINT << 62) ELSE b.sure_ns END > s.until_ns)
        AND (d.start_ns IS NULL OR d.start_ns > s.until_ns)
), limits AS MATERIALIZED ( -- up to when they are waited for; never for what comes behind the own commit
    SELECT session, seq, commit_seq, table_no, 0 AS kind, own_ns,
        CASE
            WHEN locks AND end_ns - start_ns <= getvariable('overlap_ns') THEN end_ns
            WHEN getvariable('times') = 'ends' THEN greatest(sure_ns, start_ns)
            ELSE sure_ns
        END AS until_ns
    FROM touched
    LEFT JOIN own_moments USING (session, commit_seq)
    WHERE table_no IS NOT NULL
    UNION ALL BY NAME
    SELECT session, seq, commit_seq, table_no, 0 AS kind, own_ns,
        CASE WHEN getvariable('times') = 'ends' THEN greatest(sure_ns, start_ns) ELSE sure_ns END AS until_ns
    FROM seen
    LEFT JOIN own_moments USING (session, commit_seq)
    UNION ALL BY NAME
    SELECT session, seq, seq AS commit_seq, table_no, 0 AS kind, moment_ns AS own_ns, sure_ns AS until_ns FROM released WHERE NOT own
    UNION ALL BY NAME
    SELECT session, seq, commit_seq, table_no, 0 AS kind, until_ns FROM let_by
    UNION ALL BY NAME
    SELECT session, seq, NULL AS commit_seq, table_no, kind, own_ns,
        least(own_ns - 1, CASE
            WHEN getvariable('times') = 'ends' THEN end_ns - 1
            WHEN end_ns - start_ns > getvariable('overlap_ns') THEN sure_ns
            WHEN kind = 2 AND asks THEN coalesce(granted_ns, end_ns) - 1
            WHEN kind = 1 AND adds AND getvariable('times') = 'arrivals' THEN end_ns - 1
            ELSE sure_ns
        END) AS until_ns
    FROM touched
    LEFT JOIN granted USING (session, seq)
    LEFT JOIN own_moments USING (session, commit_seq), (VALUES (1), (2)) kinds (kind)
    WHERE table_no IS NOT NULL AND locks
), awaited AS ( -- where nothing is known all is waited for; all wait for those of which nothing is known
    SELECT session, seq, any_value(commit_seq) AS commit_seq, CASE WHEN table_no = 1 THEN 0 ELSE table_no END AS table_no, kind,
        max(until_ns) AS until_ns
    FROM limits
    GROUP BY session, seq, kind, CASE WHEN table_no = 1 THEN 0 ELSE table_no END
    UNION ALL BY NAME
    SELECT session, seq, any_value(commit_seq) AS commit_seq, 1 AS table_no, kind,
        least(max(until_ns), any_value(own_ns) - 1) AS until_ns -- it has no number there
    FROM limits
    WHERE table_no > 1 AND EXISTS (FROM marks WHERE table_no = 1)
    GROUP BY session, seq, kind
), own AS ( -- the lowest number that a session still has before it, on each place
    SELECT session, seq, table_no, kind, min(number) OVER (PARTITION BY session, table_no, kind ORDER BY seq DESC) AS number
    FROM numbered
), counted AS ( -- nobody waits for what its own session does later
    SELECT a.session, a.seq, a.table_no * 3 + a.kind AS place, least(c.number, coalesce(o.number - 1, c.number)) AS number
    FROM awaited a
    ASOF JOIN reached c ON a.table_no = c.table_no AND a.kind = c.kind AND a.until_ns >= c.moment_ns
    ASOF LEFT JOIN own o ON a.session = o.session AND a.table_no = o.table_no AND a.kind = o.kind AND a.seq <= o.seq
), waiting AS (
    SELECT session, seq, list((place::BIGINT << 40) + number) AS waits
    FROM counted
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

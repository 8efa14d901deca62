-- SPDX-License-Identifier: Apache-2.0
-- Which statements were victims of a deadlock, on a tape whose log has no error numbers? Columns: session, seq.
--
-- A statement is a victim if all of these conditions are true:
-- - It is inside a transaction, takes locks and has no rows.
-- - Its client then begins again, with ROLLBACK or with BEGIN. COMMIT AND CHAIN is not a new beginning.
-- - Another session was in a transaction at the same time, or wrote.
--
-- If a ROLLBACK follows, an unknown number of rows counts as 0. The ROLLBACK undoes the statement anyway, so nothing
-- else is lost. If a BEGIN follows, the number of rows must be known to be 0, because the BEGIN would commit any
-- written rows. XA END may come in between, because a client sends it before XA ROLLBACK in any case.
--
-- A general log has only arrivals. A statement then ran until the arrival of the session's next statement. Some servers
-- log an Execute only when it has ended. An Execute therefore began at the arrival of the session's previous statement.
--
-- Input: the view tape_events; the table found_transactions (transactions.py); the macros executes (event_macros.sql)
-- and has_action; the variables precision_ns and arrivals (transactions.py).
--
-- Run by hand: `find_transactions` stores the result as `victims.parquet` of the plan.
WITH executed AS (
    SELECT session, seq, errno, rows_affected, rows_sent, class, actions,
        lead(actions) OVER by_seq AS behind, lead(actions, 2) OVER by_seq AS behind_that,
        CASE WHEN NOT getvariable('arrivals') THEN start_ns - getvariable('precision_ns')
            WHEN command = 'execute' THEN coalesce(lag(start_ns) OVER by_seq, start_ns)
            ELSE start_ns END AS from_ns,
        CASE WHEN getvariable('arrivals') THEN coalesce(next_ns, 4611686018427387904)
            ELSE start_ns + coalesce(duration_ns, 0) + getvariable('precision_ns') END AS to_ns,
        next_ns, start_ns
    FROM (SELECT *, lead(start_ns) OVER (PARTITION BY session ORDER BY seq) AS next_ns FROM tape_events)
    WHERE executes(command)
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq)
), placed AS (
    SELECT e.*, CASE WHEN has_action(behind, 'xa') AND NOT has_action(behind, 'begin') AND NOT has_action(behind, 'commit')
            AND NOT has_action(behind, 'rollback') THEN behind_that ELSE behind END AS next_actions,
        e.seq <= x.last_seq AS inside, x.first_seq, x.end_seq, x.end_seq IS NULL AS open
    FROM executed e
    ASOF LEFT JOIN found_transactions x ON e.session = x.session AND e.seq >= x.first_seq
), active AS ( -- periods in which a session may hold locks
    SELECT session, min(from_ns) AS from_ns,
        CASE WHEN any_value(open) THEN 4611686018427387904
            ELSE max(CASE WHEN seq = end_seq THEN start_ns ELSE next_ns END) + getvariable('precision_ns') END AS to_ns
    FROM placed
    WHERE inside
    GROUP BY session, first_seq
    UNION ALL BY NAME
    SELECT session, from_ns, to_ns FROM placed WHERE inside IS NOT TRUE AND class IN ('write', 'ddl')
), begun AS ( -- number of periods that have begun by each moment; begun_own counts per session
    SELECT from_ns AS at_ns, count(*) OVER (ORDER BY from_ns) AS n FROM active
), ended AS (
    SELECT to_ns AS at_ns, count(*) OVER (ORDER BY to_ns) AS n FROM active
), begun_own AS (
    SELECT session, from_ns AS at_ns, count(*) OVER (PARTITION BY session ORDER BY from_ns) AS n FROM active
), ended_own AS (
    SELECT session, to_ns AS at_ns, count(*) OVER (PARTITION BY session ORDER BY to_ns) AS n FROM active
), suspects AS (
    SELECT session, seq, from_ns, to_ns
    FROM placed
    WHERE errno IS NULL AND inside AND seq IS DISTINCT FROM end_seq
        AND (has_action(next_actions, 'rollback') AND (class = 'write' AND coalesce(rows_affected, 0) = 0
                OR has_action(actions, 'locking_read') AND coalesce(rows_sent, 0) = 0)
            OR has_action(next_actions, 'begin') AND NOT has_action(next_actions, 'commit') AND (class = 'write' AND rows_affected = 0
                OR has_action(actions, 'locking_read') AND rows_sent = 0))
)
SELECT s.session, s.seq
FROM suspects s
ASOF LEFT JOIN begun b ON s.to_ns >= b.at_ns
ASOF LEFT JOIN ended e ON s.from_ns > e.at_ns
ASOF LEFT JOIN begun_own o ON s.session = o.session AND s.to_ns >= o.at_ns
ASOF LEFT JOIN ended_own f ON s.session = f.session AND s.from_ns > f.at_ns
WHERE coalesce(b.n, 0) - coalesce(e.n, 0) > coalesce(o.n, 0) - coalesce(f.n, 0)

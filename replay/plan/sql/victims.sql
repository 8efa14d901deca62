-- SPDX-License-Identifier: Apache-2.0
-- Which statements were a deadlock's victims, on a tape whose log has no error numbers? session, seq.
-- Inputs: view tape_events, table found_transactions (transactions.py); macro executes (macros.sql), has_action; variables
-- precision_ns and arrivals (transactions.py).
-- By hand: `find_transactions` makes this the plan's `victims.parquet`.
-- A statement inside a transaction that took locks and came to no row, and behind which its client began anew: with ROLLBACK, or with
-- BEGIN. Before a ROLLBACK rows that the log does not know count as none: nothing is lost but its work, for ROLLBACK undoes that. Before a
-- BEGIN, which would commit what was written, none has to be known; COMMIT AND CHAIN is no beginning anew. XA END may stand between: a
-- client sends it before XA ROLLBACK, whatever the server says to it.
-- And a deadlock takes two: another session was in a transaction meanwhile, or wrote. Of a log that has arrivals alone (a general log) a
-- statement ran up to the arrival of its session's next, and an Execute, which some servers log when it has ended, from that of the one before.
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
), quits AS (
    SELECT session, max(start_ns) AS quit_ns FROM tape_events WHERE command = 'quit' GROUP BY session
), active AS ( -- who may have held locks, and when; a transaction that nothing ends is open until its session is gone
    SELECT session, min(from_ns) AS from_ns,
        CASE WHEN any_value(open) THEN coalesce(any_value(quit_ns), 4611686018427387904)
            ELSE max(CASE WHEN seq = end_seq THEN start_ns ELSE next_ns END) + getvariable('precision_ns') END AS to_ns
    FROM placed
    LEFT JOIN quits USING (session)
    WHERE inside
    GROUP BY session, first_seq
    UNION ALL BY NAME
    SELECT session, from_ns, to_ns FROM placed WHERE inside IS NOT TRUE AND class IN ('write', 'ddl')
), begun AS ( -- how many had begun by a moment: of all sessions, and of each
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

-- SPDX-License-Identifier: Apache-2.0
-- Which writes, locking reads and commits have no answer? They are the last statements of a session that was ended by a
-- KILL, by its client or by the end of the tape. Columns: session, seq, reason.
--
-- - no_answer: the statement is inside a transaction that only the end of its session ends. Its rows are rolled back in any case. If the
--   statement were sent, it would take locks that it may never have got on the tape.
-- - NULL: a commit, or a write outside of a transaction. It is unknown whether it was executed. Under LOCK TABLES the
--   reason is also NULL, because the changes may not be rolled back.
--
-- Input: the view tape_events, the table found_transactions (transactions.py), and the macros of names.sql and
-- event_macros.sql.
--
-- Run by hand: `transactions.find_transactions(con, plan)` reads this file if the tape has durations.
WITH silent AS (
    SELECT session, seq, class
    FROM tape_events
    WHERE executes(command) AND errno IS NULL AND duration_ns IS NULL AND NOT has_flag(flags, 'carried')
        AND (class = 'write' OR has_action(actions, 'locking_read') OR has_action(actions, 'commit'))
), sessions AS (
    SELECT session,
        max(seq) FILTER (errno IS NOT NULL OR duration_ns IS NOT NULL) AS answered,
        bool_or(has_action(actions, 'lock_tables')) AS locks_tables
    FROM tape_events
    SEMI JOIN silent USING (session)
    WHERE executes(command)
    GROUP BY session
)
SELECT e.session, e.seq, CASE WHEN t.session IS NOT NULL AND NOT coalesce(s.locks_tables, false) THEN 'no_answer' END AS reason
FROM silent e
JOIN sessions s ON e.session = s.session AND e.seq > coalesce(s.answered, 0)
LEFT JOIN (
    SELECT x.* FROM found_transactions x
    LEFT JOIN tape_events q ON x.session = q.session AND x.end_seq = q.seq
    WHERE x.end_seq IS NULL OR resets_session(q.command)
) t ON e.session = t.session AND e.seq BETWEEN t.first_seq AND t.last_seq
WHERE reason IS NOT NULL OR e.class <> 'read'

-- SPDX-License-Identifier: Apache-2.0
-- Which writes, locking reads and commits have no answer? session, seq, reason. They are the last statements of a session.
-- A KILL ended it, or its client, or the tape.
-- no_answer: inside a transaction that nothing ends. Its rows are rolled back whatever the statement did. If it was sent, it
-- would take locks that it perhaps never got.
-- NULL: nobody knows whether a write outside of a transaction, or a commit, was done. Under LOCK TABLES nothing may be rolled back.
-- Inputs: view tape_events; table found_transactions (transactions.py); macros of names.sql and event_macros.sql.
-- By hand: `transactions.find_transactions(con, plan)` reads this, if the tape has durations.
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
LEFT JOIN (FROM found_transactions WHERE end_seq IS NULL) t ON e.session = t.session AND e.seq >= t.first_seq
WHERE reason IS NOT NULL OR e.class <> 'read'

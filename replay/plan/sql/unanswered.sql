-- SPDX-License-Identifier: Apache-2.0
-- Which writes and locking reads have no answer because their session ended while they ran? session, seq, reason: the last
-- statement of a session, inside a transaction that nothing ends. A KILL ended it, or its client, or the tape. Its rows are
-- rolled back whatever it did. If it was sent, it would take locks that it perhaps never got, and its session would not end.
-- Inputs: view tape_events; table found_transactions (transactions.py); macros of names.sql and event_macros.sql.
-- By hand: `transactions.find_transactions(con, plan)` adds this to `excluded_events`, if the tape has durations.
-- Under LOCK TABLES nothing may be rolled back: such sessions are left as they are.
WITH silent AS (
    SELECT session, seq
    FROM tape_events
    WHERE executes(command) AND errno IS NULL AND duration_ns IS NULL
        AND (class = 'write' OR has_action(actions, 'locking_read'))
), ended AS (
    SELECT session, max(seq) AS seq
    FROM tape_events
    SEMI JOIN silent USING (session)
    WHERE executes(command)
    GROUP BY session
    HAVING NOT coalesce(bool_or(has_action(actions, 'lock_tables')), false)
)
SELECT s.session, s.seq, 'no_answer' AS reason
FROM silent s
JOIN ended e ON s.session = e.session AND s.seq = e.seq
JOIN found_transactions t ON s.session = t.session AND s.seq >= t.first_seq
WHERE t.end_seq IS NULL

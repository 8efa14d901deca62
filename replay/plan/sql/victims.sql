-- SPDX-License-Identifier: Apache-2.0
-- Which statements were a deadlock's victims, on a tape whose log has no error numbers? session, seq.
-- Inputs: view tape_events, table found_transactions (transactions.py); macro executes (macros.sql), has_action.
-- By hand: `find_transactions` makes this the plan's `victims.parquet`.
-- A statement inside a transaction that took locks and came to no row, and behind which its client began anew: with ROLLBACK, or with
-- BEGIN. Before a ROLLBACK rows that the log does not know count as none: nothing is lost but its work, for ROLLBACK undoes that. Before a
-- BEGIN, which would commit what was written, none has to be known; COMMIT AND CHAIN is no beginning anew.
WITH executed AS (
    SELECT session, seq, errno, rows_affected, rows_sent, class, actions,
        lead(actions) OVER (PARTITION BY session ORDER BY seq) AS next_actions
    FROM tape_events
    WHERE executes(command)
)
SELECT e.session, e.seq
FROM executed e
ASOF JOIN found_transactions x ON e.session = x.session AND e.seq >= x.first_seq
WHERE e.errno IS NULL AND e.seq <= x.last_seq AND e.seq IS DISTINCT FROM x.end_seq
    AND (has_action(e.next_actions, 'rollback') AND (e.class = 'write' AND coalesce(e.rows_affected, 0) = 0
            OR has_action(e.actions, 'locking_read') AND coalesce(e.rows_sent, 0) = 0)
        OR has_action(e.next_actions, 'begin') AND NOT has_action(e.next_actions, 'commit') AND (e.class = 'write' AND e.rows_affected = 0
            OR has_action(e.actions, 'locking_read') AND e.rows_sent = 0))

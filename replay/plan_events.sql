-- SPDX-License-Identifier: Apache-2.0
-- Which events of one window are sent? `reason` NULL = it is.
-- Under the order of commits what failed for reasons of its time (lock wait, killed, too slow) is left out: here it would succeed.
-- Input: view window_chosen (planner.py); table held_statements (session, stmt, reason); macros of plan.sql and of the rules.
SELECT
    t.* REPLACE (schema_of(t.db) AS db),
    coalesce(
        left_out(t.session, t.command, t.class, t.digest, t.db, t.flags, t.tape_ns, t.is_chosen, t.is_needed, t.tx_seq,
            t.tx_start_ns, t.tx_chosen, t.is_done),
        hold(t.command, t.class, t.flags, t.db, t.stmt),
        CASE WHEN getvariable('commit_order') AND t.errno IN (1205, 1317, 1969, 3024, 3572) THEN 'original_failed' END,
        h.reason
    ) AS reason
FROM window_chosen t
LEFT JOIN held_statements h ON t.session = h.session AND t.stmt = h.stmt

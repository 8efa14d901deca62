-- SPDX-License-Identifier: Apache-2.0
-- Which events of one window are sent? `reason` NULL = it is.
-- Input: view window_chosen (planner.py); table held_statements (session, stmt, reason); macros of plan.sql and of the rules.
SELECT
    t.* REPLACE (schema_of(t.db) AS db),
    coalesce(
        left_out(t.session, t.command, t.class, t.digest, t.db, t.flags, t.start_ns, t.is_chosen, t.is_needed, t.tx_seq,
            t.tx_start_ns, t.tx_chosen),
        hold(t.command, t.class, t.flags, t.db, t.stmt),
        h.reason
    ) AS reason
FROM window_chosen t
LEFT JOIN held_statements h ON t.session = h.session AND t.stmt = h.stmt

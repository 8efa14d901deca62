-- SPDX-License-Identifier: Apache-2.0
-- Which events of one window are sent? `reason` NULL = it is.
-- Input: view window_tape; table held_statements (session, stmt, reason); macros of plan.sql.
SELECT
    t.*,
    coalesce(
        hold(t.command, t.class, t.flags, t.db, t.stmt),
        (SELECT any_value(h.reason) FROM held_statements h WHERE h.session = t.session AND h.stmt = t.stmt)
    ) AS reason
FROM window_tape t

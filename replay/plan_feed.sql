-- SPDX-License-Identifier: Apache-2.0
-- The events of one window that are sent, as the engine takes them.
-- Input: view window_events; macros of plan.sql; macro due_of(start_ns).
SELECT
    session,
    seq,
    due_of(start_ns) AS due_ns,
    getvariable('commands')[command]::INTEGER AS command,
    coalesce(getvariable('classes')[class], -1)::INTEGER AS class,
    flags,
    db,
    statement
FROM window_events
WHERE hold(command, class, flags, db) IS NULL
ORDER BY due_ns, session, seq

-- SPDX-License-Identifier: Apache-2.0
-- The events of one window that are sent, as the engine takes them.
-- Input: view window_events; macro due_of(start_ns).
SELECT
    session,
    seq,
    due_of(start_ns) AS due_ns,
    getvariable('commands')[command]::INTEGER AS command,
    coalesce(getvariable('classes')[class], -1)::INTEGER AS class,
    flags,
    db,
    stmt,
    CASE WHEN command = 'query' OR params IS NULL THEN statement END AS statement, -- what was prepared needs no text again
    params
FROM window_events
WHERE reason IS NULL
ORDER BY due_ns, session, seq

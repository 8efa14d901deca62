-- SPDX-License-Identifier: Apache-2.0
-- Which KILL would hit a different statement than on the tape?
--
-- A KILL is not sent if the statement that ran in the victim's session at that moment is not sent. For a KILL QUERY,
-- the last statement that ran in this session also counts. Columns: session, seq, reason.
--
-- Input: the table kills (make_plan.py); the views threads and tape_selected (the tape's events with `filtered`:
-- make_plan.py); the macros of macros.sql; the variable commit_order.
--
-- Run by hand: `make_plan` stores the result as `excluded_events.parquet` of the plan.
WITH meant AS (
    SELECT k.session, k.seq, k.start_ns, k.ends_session, t.session AS victim
    FROM kills k
    ASOF JOIN threads t ON k.thread = t.thread_id AND k.start_ns >= t.first_ns
), running AS ( -- the last of the statements with the same start (in a log of whole seconds)
    SELECT session, tape_ns AS start_ns, tape_ns + coalesce(duration_ns, 0) AS end_ns, errno, filtered,
        coalesce(filtered, exclusion_reason(command, class, actions, flags, db, stmt)) AS reason
    FROM tape_selected
    WHERE executes(command) AND session IN (SELECT victim FROM meant)
    QUALIFY row_number() OVER (PARTITION BY session, tape_ns ORDER BY seq DESC) = 1
)
SELECT m.session, m.seq, 'kill_alone' AS reason
FROM meant m
ASOF JOIN running r ON m.victim = r.session AND m.start_ns >= r.start_ns
WHERE (r.reason IS NOT NULL OR (getvariable('commit_order') AND interrupted(r.errno)))
    AND (NOT m.ends_session OR m.start_ns <= r.end_ns OR r.filtered IS NOT NULL)

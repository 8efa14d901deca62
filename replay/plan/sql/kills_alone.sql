-- SPDX-License-Identifier: Apache-2.0
-- Which KILL would hit another statement than on the tape? session, seq, reason: what ran in the victim's session at that
-- moment is not sent (a KILL QUERY: or ran there last), so the KILL is not either.
-- Inputs: table kills (make_plan.py); views threads, tape_selected (the tape's events with `filtered`: make_plan.py); macros of
-- macros.sql; variable commit_order.
-- By hand: `make_plan` makes this the plan's `excluded_events.parquet`.
WITH meant AS (
    SELECT k.session, k.seq, k.start_ns, k.ends_session, t.session AS victim
    FROM kills k
    ASOF JOIN threads t ON k.thread = t.thread_id AND k.start_ns >= t.first_ns
), running AS ( -- of those that began at one moment (a log of whole seconds): the last
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

-- SPDX-License-Identifier: Apache-2.0
-- Which KILL QUERY would hit another statement than on the tape? session, seq, reason: what ran in the victim's session at
-- that moment is not sent, so the KILL is not either.
-- Inputs: views tape_events, threads (make_plan.py); macros of macros.sql; variable commit_order.
-- By hand: `make_plan` makes this the plan's `excluded_kills.parquet`.
WITH kills AS (
    SELECT session, seq, start_ns, TRY_CAST(regexp_extract(statement::VARCHAR,
        '(?i)^\s*kill\s+(?:hard\s+|soft\s+)?query\s+(\d+)\s*;?\s*$', 1) AS BIGINT) AS thread
    FROM (SELECT session, seq, start_ns, statement FROM tape_events WHERE danger_of(flags) = 'kill')
), meant AS (
    SELECT k.session, k.seq, k.start_ns, t.session AS victim
    FROM kills k
    ASOF JOIN threads t ON k.thread = t.thread_id AND k.start_ns >= t.first_ns
), running AS (
    SELECT session, start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns, errno,
        exclusion_reason(command, class, actions, flags, db, stmt) AS reason
    FROM tape_events
    WHERE executes(command) AND session IN (SELECT victim FROM meant)
)
SELECT m.session, m.seq, 'kill_alone' AS reason
FROM meant m
ASOF JOIN running r ON m.victim = r.session AND m.start_ns >= r.start_ns
WHERE r.reason IS NOT NULL OR (getvariable('commit_order') AND interrupted(r.errno))

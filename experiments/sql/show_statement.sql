-- SPDX-License-Identifier: Apache-2.0
-- Which execution of a digest is shown as its example? The result is the first execution in this list that exists:
-- - the first execution that failed only in B
-- - the first that failed in B, then in A, then on the tape
-- - the execution that took longest on the tape
--
-- The row also shows how many executions failed on the tape, in A and in B.
--
-- Input: the views tape_events and said, and the variable shown_digest.
WITH mine AS (
    SELECT session, seq, start_ns, duration_ns
    FROM tape_events
    WHERE digest = getvariable('shown_digest') AND command IN ('query', 'execute', 'bulk_execute')
), sides AS (
    SELECT m.session, m.seq, any_value(m.start_ns) AS start_ns, any_value(m.duration_ns) AS duration_ns,
        bool_or(s.errno <> 0) FILTER (s.side = 'tape') AS tape_knows, -- NULL = unknown
        coalesce(tape_knows, false) AS tape_failed,
        coalesce(bool_or(s.errno <> 0) FILTER (s.side = 'a'), false) AS a_failed,
        coalesce(bool_or(s.errno <> 0) FILTER (s.side = 'b'), false) AS b_failed,
        coalesce(bool_or(s.errno IS NOT NULL) FILTER (s.side <> 'tape'), false) AS executed
    FROM mine AS m
    LEFT JOIN said AS s ON m.session = s.session AND m.seq = s.seq
    GROUP BY m.session, m.seq
)
SELECT session, seq,
    CASE WHEN b_failed AND NOT a_failed THEN 'failed only in B' WHEN b_failed THEN 'failed in B'
        WHEN a_failed THEN 'failed in A' WHEN tape_failed THEN 'failed on the tape' ELSE 'longest execution, because no execution failed' END AS why,
    count(*) OVER () AS executions_count, sum(tape_knows::INTEGER) OVER () AS tape_count, sum(a_failed::INTEGER) OVER () AS a_count,
    sum(b_failed::INTEGER) OVER () AS b_count
FROM sides
ORDER BY NOT (b_failed AND NOT a_failed), NOT b_failed, NOT a_failed, NOT tape_failed, NOT executed,
    CASE WHEN tape_failed OR a_failed OR b_failed THEN 0 ELSE -coalesce(duration_ns, 0) END, start_ns, session, seq
LIMIT 1

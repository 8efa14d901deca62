-- SPDX-License-Identifier: Apache-2.0
-- Does every event of the tape have exactly one outcome? The first row is for the tape. Each further row is for one
-- status and reason.
--
-- `print` is a fingerprint of the set of (session, seq, clone). It is a sum, so it needs neither an order nor memory.
-- Equal counts with different prints mean that one event was counted twice and another event not at all.
--
-- Input: the views tape_events and run_outcomes, and the variable copies (how often each event is replayed).
--
-- Run by hand: SET VARIABLE copies = 1; create the views FROM the Parquet files of tape and run; .read accounting.sql
SELECT 'tape' AS status, NULL AS reason, count(*) AS events, coalesce(sum(hash(session, seq, clone)::HUGEINT), 0) AS print
FROM tape_events, (SELECT range::INTEGER AS clone FROM range(getvariable('copies')::BIGINT))
UNION ALL BY NAME
SELECT status, reason, count(*) AS events, sum(hash(session, seq, clone)::HUGEINT) AS print
FROM run_outcomes
GROUP BY status, reason
ORDER BY status = 'tape' DESC, status, reason

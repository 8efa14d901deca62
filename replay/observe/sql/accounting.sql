-- SPDX-License-Identifier: Apache-2.0
-- Does every event of the tape have exactly one outcome? The first row is the tape, then one row for each status and
-- reason.
-- Inputs: views tape_events and run_outcomes; variable copies: how often each event is replayed.
-- By hand: SET VARIABLE copies = 1; create the views FROM the Parquet files of tape and run; .read accounting.sql
-- `print` is a fingerprint of the set of (session, seq, clone): a sum, so no order and no memory is needed. Equal counts
-- with unequal prints mean that one event was counted twice and another never.
SELECT 'tape' AS status, NULL AS reason, count(*) AS events, coalesce(sum(hash(session, seq, clone)::HUGEINT), 0) AS print
FROM tape_events, (SELECT range::INTEGER AS clone FROM range(getvariable('copies')::BIGINT))
UNION ALL BY NAME
SELECT status, reason, count(*) AS events, sum(hash(session, seq, clone)::HUGEINT) AS print
FROM run_outcomes
GROUP BY status, reason
ORDER BY status = 'tape' DESC, status, reason

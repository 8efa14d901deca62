-- SPDX-License-Identifier: Apache-2.0
-- What are the digests of several tapes together? The text of a digest comes from the first tape that contains it.
--
-- Input: the view all_digests, which has the digests of each tape and the number of the tape as `tape`.
WITH together AS (
    SELECT
        digest,
        min(tape) AS tape,
        sum(events)::BIGINT AS events,
        sum(duration_ns)::BIGINT AS duration_ns,
        min(first_ns) AS first_ns,
        max(last_ns) AS last_ns
    FROM all_digests
    GROUP BY digest
)
SELECT d.* EXCLUDE (tape) REPLACE (
    t.events AS events, t.duration_ns AS duration_ns, t.first_ns AS first_ns, t.last_ns AS last_ns)
FROM all_digests d
JOIN together t ON d.digest = t.digest AND d.tape = t.tape
ORDER BY t.events DESC, d.digest

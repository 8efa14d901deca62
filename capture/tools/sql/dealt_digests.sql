-- SPDX-License-Identifier: Apache-2.0
-- What are the digests of one tape of a set? The texts are those of the tape that was dealt.
-- Inputs: views events (of the one tape), tape_digests (of the tape that was dealt).
SELECT d.* REPLACE (c.events AS events, c.duration_ns AS duration_ns, c.first_ns AS first_ns, c.last_ns AS last_ns)
FROM tape_digests d
JOIN (
    SELECT
        digest,
        count(*) AS events,
        sum(duration_ns)::BIGINT AS duration_ns,
        min(start_ns) AS first_ns,
        max(start_ns + coalesce(duration_ns, 0)) AS last_ns
    FROM events
    WHERE digest IS NOT NULL
    GROUP BY digest
) c USING (digest)
ORDER BY c.events DESC, digest

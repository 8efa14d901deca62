-- SPDX-License-Identifier: Apache-2.0
-- What are the digests of one tape of a set? The set was made by distributing the sessions of an original tape. The
-- texts come from the original tape.
--
-- Input: the views events (of the one tape) and tape_digests (of the original tape).
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

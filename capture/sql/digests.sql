-- SPDX-License-Identifier: Apache-2.0
-- Which digests are on this tape, how often, for how long, and what is the first statement of each?
--
-- Input: the view events (a tape's events). Native code adds the normalised text, which it makes from the sample.
SELECT
    digest,
    arg_min(class, (file, "offset", session, seq)) AS class,
    arg_min(statement, (file, "offset", session, seq)) AS sample,
    count(*) AS events,
    sum(duration_ns) AS duration_ns,
    min(start_ns) AS first_ns,
    max(start_ns + coalesce(duration_ns, 0)) AS last_ns
FROM events
WHERE digest IS NOT NULL
GROUP BY digest
ORDER BY events DESC, digest

-- SPDX-License-Identifier: Apache-2.0
-- Which statements took the most time in the run? The result has the most expensive digests, each with a sample and its
-- schema. Only digests that EXPLAIN accepts are listed. Samples must be complete and at most 1 MiB long.
--
-- Input: the views run_outcomes, tape_events and tape_digests; the parameter $1 (the number of digests).
--
-- Run by hand: .read schemas/names.sql, create the views FROM the Parquet files of run and tape, put a number for $1,
-- then .read costliest.sql
WITH by_schema AS (
    SELECT e.digest, e.db, sum(coalesce(o.done_ns - o.sent_ns, 0)) AS took_ns
    FROM run_outcomes AS o
    JOIN tape_events AS e USING (session, seq)
    WHERE o.status = 'executed' AND e.class IN ('read', 'write')
    GROUP BY e.digest, e.db
), sums AS ( -- the schema in which the digest took the most time
    SELECT digest, arg_max(db, (took_ns, db)) AS db, sum(took_ns) AS took_ns
    FROM by_schema
    GROUP BY digest
)
SELECT s.digest, s.db, d.sample
FROM sums AS s
JOIN tape_digests AS d USING (digest)
WHERE d.sample IS NOT NULL AND octet_length(d.sample) = d.sample_bytes
    AND d.sample_bytes <= 1 << 20
    AND has_property(d.properties, 'explainable')
ORDER BY s.took_ns DESC, s.digest
LIMIT $1

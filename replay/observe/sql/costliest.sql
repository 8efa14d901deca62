-- SPDX-License-Identifier: Apache-2.0
-- Which statements took the most time in the run? The costliest digests, each with a sample and its schema; only what
-- EXPLAIN takes, and only samples that are whole and have at most a MiB.
-- Inputs: views run_outcomes, tape_events, tape_digests; parameter $1 = how many.
-- By hand: .read schemas/names.sql, create the views FROM the Parquet files of run and tape, put a number for $1, then .read costliest.sql
WITH by_schema AS (
    SELECT e.digest, e.db, sum(coalesce(o.done_ns - o.sent_ns, 0)) AS took_ns
    FROM run_outcomes AS o
    JOIN tape_events AS e USING (session, seq)
    WHERE o.status = 'executed' AND e.class IN ('read', 'write')
    GROUP BY e.digest, e.db
), sums AS ( -- the schema in which it took the most time
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

-- SPDX-License-Identifier: Apache-2.0
-- Which statements of each digest does querytape explain, or send in quick mode? It takes up to five samples, from
-- about a thousand events of each digest. These are the most frequent, the rarest and the longest statement, and those
-- with the smallest and the largest values. The longest statement has the longest list of values. Digests with the most
-- time on the tape come first.
--
-- Input: the views tape_events and tape_digests, and these variables:
-- - wanted: the digests (NULL = all)
-- - per_digest, max_bytes, unwanted_flags
-- - prepared: whether executions of prepared statements are included, with their values in `params`. Executions with a
--   cursor or long data are left out.
--
-- Run by hand: .read schemas/names.sql, set the variables, create the views FROM the Parquet files of a tape, then
-- .read plan_samples.sql
WITH digests AS (
    SELECT digest, events, coalesce(duration_ns, 0) AS tape_ns
    FROM tape_digests
    WHERE class IN ('read', 'write')
        AND has_property(properties, 'explainable')
        AND (getvariable('wanted') IS NULL OR list_contains(getvariable('wanted'), digest))
),
texts AS (
    SELECT e.digest, e.db, e.statement, CASE WHEN e.stmt IS NOT NULL THEN e.params END AS bound, any_value(d.tape_ns) AS tape_ns,
        count(*) AS n, min({'session': e.session, 'seq': e.seq}) AS place
    FROM tape_events AS e
    JOIN digests AS d USING (digest)
    WHERE e.statement IS NOT NULL AND e.command IN ('query', 'execute')
        AND (e.stmt IS NULL OR (getvariable('prepared') AND starts_with(hex(e.params), '45') AND substr(hex(e.params), 5, 2) = '00'))
        AND e.flags & getvariable('unwanted_flags') = 0
        AND octet_length(e.statement) <= getvariable('max_bytes')
        AND hash(e.session, e.seq) % greatest(1, d.events // 1000) = 0
    GROUP BY e.digest, e.db, e.statement, bound
),
valued AS (
    SELECT *, TRY_CAST(regexp_extract_all(statement::VARCHAR, '\b\d{1,300}(?:\.\d{1,300})?\b') AS DOUBLE[]) AS numbers FROM texts
),
ranked AS (
    SELECT *,
        row_number() OVER (PARTITION BY digest ORDER BY n DESC, statement, bound, db) AS commonest,
        row_number() OVER (PARTITION BY digest ORDER BY n, statement DESC, bound DESC, db) AS rarest,
        row_number() OVER (PARTITION BY digest ORDER BY octet_length(statement) + coalesce(octet_length(bound), 0) DESC, statement, bound, db) AS longest,
        row_number() OVER (PARTITION BY digest ORDER BY numbers, statement, bound, db) AS smallest,
        row_number() OVER (PARTITION BY digest ORDER BY numbers DESC NULLS LAST, statement DESC, bound DESC, db) AS largest
    FROM valued
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY digest ORDER BY commonest <> 1, longest <> 1, largest <> 1, smallest <> 1, rarest) AS sample
    FROM ranked
    WHERE 1 IN (commonest, rarest, longest, smallest, largest)
)
SELECT digest, sample::INTEGER AS sample,
    concat_ws(',', CASE WHEN commonest = 1 THEN 'commonest' END, CASE WHEN rarest = 1 THEN 'rarest' END,
        CASE WHEN longest = 1 THEN 'longest' END, CASE WHEN smallest = 1 THEN 'smallest' END,
        CASE WHEN largest = 1 THEN 'largest' END) AS why,
    db, statement, place.session AS session, place.seq AS seq
FROM numbered
WHERE sample <= getvariable('per_digest')
ORDER BY tape_ns DESC, digest, sample

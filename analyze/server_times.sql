-- SPDX-License-Identifier: Apache-2.0
-- What did the statements cost in the server itself: on the tape, where it was taken there, and by the targets' own slow logs
-- (`querytape replay --target-slowlog`)? One row for each digest; these times may be ranked against each other, not against
-- the client's. Input: variables tape, tape_in_server (was it taken in the server), a_log, b_log (tapes of the slow logs, or NULL).
WITH took AS (
    SELECT 'tape' AS side, digest, duration_ns FROM read_parquet(getvariable('tape') || '/events/part-*.parquet')
    WHERE getvariable('tape_in_server')
    UNION ALL
    SELECT 'a', digest, duration_ns
    FROM read_parquet(coalesce(getvariable('a_log'), getvariable('tape')) || '/events/part-*.parquet')
    WHERE getvariable('a_log') IS NOT NULL
    UNION ALL
    SELECT 'b', digest, duration_ns
    FROM read_parquet(coalesce(getvariable('b_log'), getvariable('tape')) || '/events/part-*.parquet')
    WHERE getvariable('b_log') IS NOT NULL
), sums AS (
    SELECT digest, side, count(*) AS n, sum(duration_ns)::BIGINT AS total_ns,
        quantile_disc(duration_ns, 0.5) AS p50_ns, quantile_disc(duration_ns, 0.95) AS p95_ns
    FROM took
    WHERE digest IS NOT NULL AND duration_ns IS NOT NULL
    GROUP BY digest, side
)
SELECT digest,
    any_value(n) FILTER (side = 'tape') AS tape_n, any_value(n) FILTER (side = 'a') AS a_n, any_value(n) FILTER (side = 'b') AS b_n,
    any_value(p50_ns) FILTER (side = 'tape') AS tape_p50_ns, any_value(p50_ns) FILTER (side = 'a') AS a_p50_ns,
    any_value(p50_ns) FILTER (side = 'b') AS b_p50_ns,
    any_value(p95_ns) FILTER (side = 'tape') AS tape_p95_ns, any_value(p95_ns) FILTER (side = 'a') AS a_p95_ns,
    any_value(p95_ns) FILTER (side = 'b') AS b_p95_ns,
    max(total_ns) AS total_ns
FROM sums
WHERE digest IN (SELECT digest::VARCHAR FROM digest_texts)
GROUP BY digest
HAVING count(*) > 1
ORDER BY max(total_ns) DESC, digest

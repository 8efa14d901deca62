-- SPDX-License-Identifier: Apache-2.0
-- How long did the statements take inside the server? The result has one row for each digest.
--
-- The times come from the targets' own slow logs (`querytape replay --target-slowlog`), and from the tape if the tape
-- was captured in the server. These times can be compared with each other, but not with the client's times.
--
-- Input: the table tape_quantiles, the variable tape_in_server (whether the tape was captured in the server) and the view
-- log_event. The view has the events of the slow logs' tapes, with run 'a' or 'b'.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   CREATE VIEW log_event AS SELECT 'a' AS run, * FROM 'later.tape/events/*.parquet';
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/quantiles.sql
--   .read analyze/sql/report/server_times.sql
WITH sums AS (
    SELECT digest::VARCHAR AS digest, 'tape' AS place, n, total_ns, p[1] AS p50_ns, p[2] AS p95_ns FROM tape_quantiles
    WHERE getvariable('tape_in_server')
    UNION ALL
    SELECT digest, run, count(*), sum(duration_ns)::BIGINT, quantile_disc(duration_ns, 0.5), quantile_disc(duration_ns, 0.95) FROM log_event
    WHERE digest IS NOT NULL AND duration_ns IS NOT NULL
    GROUP BY digest, run
)
SELECT digest,
    max(n) FILTER (place = 'tape') AS tape_n, max(n) FILTER (place = 'a') AS a_n, max(n) FILTER (place = 'b') AS b_n,
    max(p50_ns) FILTER (place = 'tape') AS tape_p50_ns, max(p50_ns) FILTER (place = 'a') AS a_p50_ns,
    max(p50_ns) FILTER (place = 'b') AS b_p50_ns,
    max(p95_ns) FILTER (place = 'tape') AS tape_p95_ns, max(p95_ns) FILTER (place = 'a') AS a_p95_ns,
    max(p95_ns) FILTER (place = 'b') AS b_p95_ns,
    max(total_ns) AS total_ns
FROM sums
WHERE digest IN (SELECT digest::VARCHAR FROM digest_texts)
GROUP BY digest
HAVING count(*) > 1
ORDER BY max(total_ns) DESC, digest

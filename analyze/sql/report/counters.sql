-- SPDX-License-Identifier: Apache-2.0
-- What did the servers count during the runs, per thousand statements?
--
-- The result contains counters of SHOW GLOBAL STATUS that show how the server did its work. They count handlers, InnoDB
-- rows and reads, sorts, temporary tables, joins, locks and the query cache. The largest difference comes first.
--
-- Input: the view sampled and the table shape_counts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   CREATE VIEW sampled AS SELECT 'a' AS run, 1 AS round, real_ns, real_ns - started_ns AS at_ns, source, name, value
--       FROM 'old.run/samples/part-*.parquet', read_json('old.run/run.json', columns = {started_ns: 'BIGINT'});
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/quantiles.sql
--   .read analyze/sql/report/counters.sql
WITH statements AS (
    SELECT run::VARCHAR AS run, round, sum(executed) AS n FROM shape_counts WHERE executed > 0 GROUP BY ALL
), first_last AS (
    SELECT run, round, name, arg_min(value, real_ns) AS first, arg_max(value, real_ns) AS last
    FROM sampled
    WHERE source = 'status' AND regexp_matches(name, '(?i)^(handler_|innodb_(rows_|buffer_pool_(read|wait|pages_flushed)|data_(reads|writes|fsyncs)'
        || '|log_(waits|writes)|os_log|row_lock|deadlocks)|select_|sort_|created_tmp|table_locks_waited|opened_tables|key_read|qcache_hits)')
    GROUP BY ALL
), rates AS (
    SELECT f.run, f.name, avg((f.last - f.first) / (s.n / 1000.0) ORDER BY f.round) AS rate
    FROM first_last AS f
    JOIN statements AS s ON f.run = s.run AND f.round = s.round
    WHERE f.last >= f.first
    GROUP BY ALL
)
SELECT name, max(rate) FILTER (run = 'a') AS a, max(rate) FILTER (run = 'b') AS b,
    ln((coalesce(max(rate) FILTER (run = 'b'), 0) + 1) / (coalesce(max(rate) FILTER (run = 'a'), 0) + 1)) AS weight
FROM rates
GROUP BY name
HAVING max(rate) >= 1
ORDER BY abs(weight) DESC, name

-- SPDX-License-Identifier: Apache-2.0
-- How did the counters of the server and the machine change over time? The result has one row for each name and each
-- bin of bin_ns nanoseconds, for the first round of each run. Names and units:
-- - cpu user, cpu system, cpu iowait: percent of all processors.
-- - disk read, disk write, net in, net out: bytes per second.
-- - threads running: a number.
-- - buffer pool reads, row lock waits, pages flushed, temporary disk tables: per second.
--
-- Input: the view sampled, whose at_ns counts from the start of the run, and the variable bin_ns.
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
--   .read analyze/sql/report/series.sql
WITH wanted AS (
    SELECT run, real_ns, at_ns, CASE
        WHEN source = 'host' AND name LIKE 'cpu %' THEN name
        WHEN source = 'host' AND name LIKE 'disk % read_bytes' THEN 'disk read'
        WHEN source = 'host' AND name LIKE 'disk % written_bytes' THEN 'disk write'
        WHEN source = 'host' AND name LIKE 'net % received_bytes' THEN 'net in'
        WHEN source = 'host' AND name LIKE 'net % sent_bytes' THEN 'net out'
        WHEN source = 'status' THEN MAP {'Threads_running': 'threads running', 'Innodb_buffer_pool_reads': 'buffer pool reads',
            'Innodb_row_lock_waits': 'row lock waits', 'Innodb_buffer_pool_pages_flushed': 'pages flushed',
            'Created_tmp_disk_tables': 'temporary disk tables'}[name]
        END AS name, name AS counter, value
    FROM sampled
    WHERE round = 1
), steps AS (
    SELECT run, name, counter, at_ns, value, value - lag(value) OVER one AS step, (at_ns - lag(at_ns) OVER one) / 1e9 AS seconds
    FROM wanted
    WHERE name IS NOT NULL
    WINDOW one AS (PARTITION BY run, name, counter ORDER BY real_ns)
), ticks AS (
    SELECT run, name, (at_ns // getvariable('bin_ns'))::BIGINT AS bin,
        CASE WHEN name = 'threads running' THEN avg(value ORDER BY at_ns) ELSE sum(step ORDER BY at_ns, counter) / (getvariable('bin_ns') / 1e9) END AS value
    FROM steps
    WHERE name = 'threads running' OR step IS NOT NULL
    GROUP BY run, name, bin
), processors AS (
    SELECT run, bin, sum(value ORDER BY name) AS value FROM ticks WHERE name LIKE 'cpu %' GROUP BY ALL
)
SELECT t.run, t.name, t.bin, CASE WHEN t.name LIKE 'cpu %' THEN 100 * t.value / nullif(p.value, 0) ELSE t.value END AS value
FROM ticks AS t
LEFT JOIN processors AS p ON t.run = p.run AND t.bin = p.bin AND t.name LIKE 'cpu %'
WHERE t.name NOT IN ('cpu nice', 'cpu idle', 'cpu irq', 'cpu softirq', 'cpu steal') AND t.bin >= 0
ORDER BY t.name, t.run, t.bin

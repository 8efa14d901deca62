-- SPDX-License-Identifier: Apache-2.0
-- How much of the machines did other programs use, in each block of the tape's time and each round?
--
-- The result has one row for each side, round, block and machine. `machine` is 'host' for the target's machine. It is
-- 'tool' for the replayer's machine, if the two machines differ.
-- - others: the average number of processors that other programs used. The target and the replayer do not count. NULL
--   if the target's process could not be observed.
-- - steal: processors that the hypervisor gave to other guests (stolen time).
-- - idle: unused processors.
-- - cpus: the number of processors.
-- - waiting: processes that were ready to run, minus the statements that ran in the target.
-- - pressure: the share of the time in which a process waited for a processor (pressure stall information). NULL if the
--   kernel does not report it.
--
-- Samples are taken once a second, so several short blocks share one sample.
--
-- Input: the view sampled and the table block_counts.
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
--   .read analyze/sql/report/interference.sql
WITH wide AS (
    SELECT run, round, source, at_ns,
        max(value) FILTER (name = 'cpu user') AS "user", max(value) FILTER (name = 'cpu nice') AS nice,
        max(value) FILTER (name = 'cpu system') AS system, max(value) FILTER (name = 'cpu idle') AS idle,
        max(value) FILTER (name = 'cpu iowait') AS iowait, max(value) FILTER (name = 'cpu irq') AS irq,
        max(value) FILTER (name = 'cpu softirq') AS softirq, max(value) FILTER (name = 'cpu steal') AS steal,
        max(value) FILTER (name = 'cpus') AS cpus, max(value) FILTER (name = 'procs_running') AS running,
        max(value) FILTER (name = 'target cpu') AS target, max(value) FILTER (name = 'own cpu_ns') AS own,
        max(value) FILTER (name = 'pressure cpu some_us') AS pressure
    FROM sampled
    WHERE source IN ('host', 'tool')
    GROUP BY ALL
), statements AS (
    SELECT run, round, at_ns, max(value) AS threads
    FROM sampled
    WHERE source = 'status' AND name = 'Threads_running'
    GROUP BY ALL
), filled AS ( -- the sampler stores a value only when it changes
    SELECT run, round, source, at_ns, lag(at_ns) OVER up AS from_ns,
        last_value("user" IGNORE NULLS) OVER up + last_value(nice IGNORE NULLS) OVER up + last_value(system IGNORE NULLS) OVER up AS busy,
        last_value(idle IGNORE NULLS) OVER up + coalesce(last_value(iowait IGNORE NULLS) OVER up, 0) AS idle,
        coalesce(last_value(irq IGNORE NULLS) OVER up, 0) + coalesce(last_value(softirq IGNORE NULLS) OVER up, 0) AS interrupts,
        coalesce(last_value(steal IGNORE NULLS) OVER up, 0) AS steal,
        last_value(cpus IGNORE NULLS) OVER up AS cpus, last_value(running IGNORE NULLS) OVER up AS running,
        last_value(target IGNORE NULLS) OVER up AS target, coalesce(last_value(own IGNORE NULLS) OVER up, 0) AS own,
        last_value(pressure IGNORE NULLS) OVER up AS pressure
    FROM wide
    WINDOW up AS (PARTITION BY run, round, source ORDER BY at_ns)
), steps AS (
    SELECT f.run, f.round, f.source, f.from_ns, f.at_ns, f.cpus, f.running - least(coalesce(s.threads, 0), f.running) AS waiting,
        f.busy - lag(f.busy) OVER up AS busy, f.idle - lag(f.idle) OVER up AS idle,
        f.steal - lag(f.steal) OVER up AS steal, f.interrupts - lag(f.interrupts) OVER up AS interrupts,
        CASE WHEN f.source = 'tool' THEN 0 ELSE f.target - lag(f.target) OVER up END AS target,
        (f.own - lag(f.own) OVER up) / 1e7 AS own, f.pressure - lag(f.pressure) OVER up AS pressure
    FROM filled AS f
    ASOF LEFT JOIN statements AS s ON f.run = s.run AND f.round = s.round AND f.at_ns >= s.at_ns
    WINDOW up AS (PARTITION BY f.run, f.round, f.source ORDER BY f.at_ns)
), shares AS (
    SELECT run, round, source, from_ns, at_ns, cpus, waiting, cpus / (busy + idle + steal + interrupts) AS scale,
        busy - target - own AS others, steal, idle, pressure / ((at_ns - from_ns) / 1e3) AS pressure
    FROM steps
    WHERE busy + idle + steal + interrupts > 0 AND at_ns > from_ns AND cpus > 0
), windows AS (
    SELECT run, round, block, min(first_ns) AS from_ns, greatest(max(last_ns), min(first_ns) + 1) AS to_ns FROM block_counts GROUP BY ALL
), parts AS (
    SELECT w.run, w.round, w.block, s.source AS machine, least(w.to_ns, s.at_ns) - greatest(w.from_ns, s.from_ns) AS weight, s.*
    FROM windows AS w
    JOIN shares AS s ON s.run = w.run::VARCHAR AND s.round = w.round AND s.from_ns < w.to_ns AND s.at_ns > w.from_ns
)
SELECT run::VARCHAR AS run, round, block, machine,
    CASE WHEN count(others) > 0 THEN greatest(sum(weight * others * scale ORDER BY at_ns) / sum(weight), 0) END AS others,
    sum(weight * steal * scale ORDER BY at_ns) / sum(weight) AS steal, sum(weight * idle * scale ORDER BY at_ns) / sum(weight) AS idle,
    max(cpus) AS cpus, sum(weight * waiting ORDER BY at_ns) / sum(weight) AS waiting,
    sum(weight * pressure ORDER BY at_ns) / sum(weight) AS pressure
FROM parts
GROUP BY ALL
ORDER BY ALL

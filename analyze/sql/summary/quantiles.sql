-- SPDX-License-Identifier: Apache-2.0
-- Which quantiles do the bins give? All analyses read these tables instead of the bins.
--
-- - p: the values of values_at. usual: the quantiles 0.5, 0.9, 0.95, 0.99, 0.999 and the upper middle value. tail: 0.5
--   and 0.95.
-- - digest_quantiles: `paired` rows are for the paired events only. `median` is the mean of both middle values.
-- - run_quantiles: `is_response` rows are for the response time, the others for the service time.
-- - group_counts, group_quantiles: the 50 schemas, users, classes, tables and sessions with the most time.
-- - pair_tails: the time that each digest takes longer in the slowest 1 % of the pairs.
--
-- Input: the tables of events.sql and chosen.sql, and digest_texts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/quantiles.sql
CREATE OR REPLACE TABLE shape_counts AS
SELECT digest, class, "user", db, run, round,
    coalesce(sum(n) FILTER (is_executed), 0)::BIGINT AS executed,
    coalesce(sum(n) FILTER (is_executed AND has_error), 0)::BIGINT AS errors,
    coalesce(sum(n) FILTER (ok), 0)::BIGINT AS answered,
    coalesce(sum(n) FILTER (is_done), 0)::BIGINT AS done,
    sum(service_ns) FILTER (ok)::BIGINT AS service_ns,
    max(longest_ns) FILTER (ok) AS longest_ns,
    max(longest_response_ns) FILTER (ok) AS longest_response_ns,
    sum(rows_sent) FILTER (ok)::BIGINT AS rows_sent,
    sum(rows_affected) FILTER (ok)::BIGINT AS rows_affected,
    sum(rows_sent)::BIGINT AS all_rows_sent,
    sum(rows_affected)::BIGINT AS all_rows_affected
FROM shape_parts
GROUP BY ALL;

CREATE OR REPLACE TABLE block_counts AS
SELECT digest, run, round, block, sum(n)::BIGINT AS n, sum(logs)::BIGINT AS logs, coalesce(sum(n) FILTER (paired), 0)::BIGINT AS pairs,
    sum(logs) FILTER (paired)::BIGINT AS pair_logs, min(first_ns) AS first_ns, max(last_ns) AS last_ns
FROM block_parts
GROUP BY ALL;

-- Digests with times that are not paired.
CREATE OR REPLACE TEMP TABLE digest_partly AS
SELECT DISTINCT digest FROM service_bins WHERE digest IS NOT NULL AND NOT paired;

CREATE OR REPLACE TEMP VIEW digest_bins AS
SELECT {'digest': digest, 'run': run, 'paired': false} AS key, bin, n, least FROM service_bins WHERE digest IS NOT NULL
UNION ALL
SELECT {'digest': digest, 'run': run, 'paired': true}, bin, n, least FROM service_bins WHERE paired AND digest IN (FROM digest_partly);

CREATE OR REPLACE TABLE digest_quantiles AS
WITH found AS (
    FROM values_at('digest_bins', 'usual', 89)
), digests AS (
    FROM found
    UNION ALL
    SELECT {'digest': key.digest, 'run': key.run, 'paired': true}, p FROM found WHERE NOT key.paired AND key.digest NOT IN (FROM digest_partly)
)
SELECT key.digest AS digest, key.run AS run, key.paired AS paired, p, (p[1] + p[6]) / 2 AS median FROM digests;

CREATE OR REPLACE TEMP VIEW digest_responses AS
SELECT {'digest': digest, 'run': run} AS key, bin, n, least FROM response_bins WHERE digest IS NOT NULL;

CREATE OR REPLACE TABLE response_quantiles AS
SELECT key.digest AS digest, key.run AS run, p FROM values_at('digest_responses', 'tail', 89);

CREATE OR REPLACE TEMP VIEW tape_durations AS
SELECT digest AS key, bin, n, least FROM tape_bins;

CREATE OR REPLACE TABLE tape_quantiles AS
SELECT digest, n, total_ns, p
FROM (SELECT digest, sum(n)::BIGINT AS n, sum(total_ns)::BIGINT AS total_ns FROM tape_bins GROUP BY digest) AS sums
JOIN values_at('tape_durations', 'tail', 89) AS found ON sums.digest = found.key;

CREATE OR REPLACE TEMP TABLE round_service AS
SELECT run, round, bin, sum(n)::BIGINT AS n, min(least) AS least FROM service_bins GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE run_bins AS
SELECT {'run': run, 'is_response': false} AS key, bin, n, least FROM round_service
UNION ALL SELECT {'run': run, 'is_response': true}, bin, sum(n)::BIGINT, min(least) FROM response_bins GROUP BY ALL;

CREATE OR REPLACE TABLE run_quantiles AS
SELECT key.run AS run, key.is_response AS is_response, p FROM values_at('run_bins', 'usual', 89);

CREATE OR REPLACE TEMP VIEW round_bins AS
SELECT {'run': run, 'round': round} AS key, bin, n, least FROM round_service;

CREATE OR REPLACE TABLE round_quantiles AS
SELECT key.run AS run, key.round AS round, p FROM values_at('round_bins', 'usual', 89);

CREATE OR REPLACE TEMP VIEW pair_ratios AS
SELECT digest AS key, bin, n, least FROM ratio_bins;

CREATE OR REPLACE TABLE ratio_quantiles AS
SELECT key AS digest, p FROM values_at('pair_ratios', 'interval', 89);

CREATE OR REPLACE TABLE pair_tails AS
WITH bins AS (
    SELECT run, bin, sum(n) AS n, sum(sum(n)) OVER (PARTITION BY run ORDER BY bin) AS upto, sum(sum(n)) OVER (PARTITION BY run) AS whole
    FROM service_bins
    WHERE paired
    GROUP BY run, bin
), weights AS ( -- which part of a bin is at or beyond the p99 of all pairs of the run
    SELECT run, bin, least(1, (upto - rank_of(0.99, whole) + 1) / n) AS weight FROM bins WHERE upto >= rank_of(0.99, whole)
)
SELECT s.digest, sum((if(s.run = 'b', 1, -1) * w.weight * s.n * s.least)::BIGINT)::BIGINT AS more_ns
FROM service_bins AS s
JOIN weights AS w ON s.paired AND s.run = w.run AND s.bin = w.bin
GROUP BY s.digest;

-- The median and the p95 of each digest in each block, and the p95 of its pairs in each twentieth of the tape's time.
CREATE OR REPLACE TABLE block_quantiles AS
SELECT digest, run, block, [min(least) FILTER (upto >= rank_of(0.5, n)), min(least) FILTER (upto >= rank_of(0.95, n))] AS p
FROM (
    SELECT digest, run, block, least, sum(n) OVER (PARTITION BY digest, run, block ORDER BY bin) AS upto, sum(n) OVER (PARTITION BY digest, run, block) AS n
    FROM block_bins
    WHERE round = 1 AND block IS NOT NULL
) AS placed
GROUP BY ALL;

CREATE OR REPLACE TABLE tail_quantiles AS
SELECT digest, round, block, run, [min(least) FILTER (upto >= rank_of(0.5, n)), min(least) FILTER (upto >= rank_of(0.95, n))] AS p
FROM (
    SELECT digest, round, block, run, least, sum(n) OVER (PARTITION BY digest, round, block, run ORDER BY bin) AS upto,
        sum(n) OVER (PARTITION BY digest, round, block, run) AS n
    FROM (
        SELECT digest, round, block // 2 AS block, run, bin, sum(n)::BIGINT AS n, min(least) AS least FROM block_bins WHERE paired GROUP BY ALL
    ) AS bins
) AS placed
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW tick_bins AS
SELECT {'run': run, 'round': round, 'tick': tick} AS key, bin, n, least FROM time_bins WHERE ok;

CREATE OR REPLACE TABLE tick_quantiles AS
SELECT key.run AS run, key.round AS round, key.tick AS tick, p FROM values_at('tick_bins', 'usual', 12);

-- The answers in each bin of bin_ns nanoseconds, and the service times of each digest in quarters of a power of two.
CREATE OR REPLACE TABLE tick_counts AS
SELECT run, round, tick, sum(n)::BIGINT AS n, sum(service_ns)::BIGINT AS service_ns, coalesce(sum(n) FILTER (has_error), 0)::BIGINT AS errors FROM time_bins GROUP BY ALL;

CREATE OR REPLACE TABLE height_counts AS
SELECT digest, run, bin // 178 AS height, sum(n)::BIGINT AS n FROM service_bins WHERE digest IS NOT NULL GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW group_tables AS
SELECT digest, unnest(tables) AS name FROM digest_texts;

CREATE OR REPLACE TABLE group_counts AS
WITH shapes AS (
    SELECT digest, coalesce(db, '-') AS db, coalesce("user", '-') AS "user", class, run, executed AS n, errors, service_ns FROM shape_counts WHERE executed > 0
), sums AS (
    SELECT kind, name, run, sum(n)::BIGINT AS n, sum(errors)::BIGINT AS errors, sum(service_ns)::BIGINT AS total_ns
    FROM (
        SELECT 'schema' AS kind, db::VARCHAR AS name, run, n, errors, service_ns FROM shapes
        UNION ALL SELECT 'user', "user"::VARCHAR, run, n, errors, service_ns FROM shapes
        UNION ALL SELECT 'class', class::VARCHAR, run, n, errors, service_ns FROM shapes WHERE class IS NOT NULL
        UNION ALL SELECT 'session', session::VARCHAR, run, n, errors, service_ns FROM session_counts WHERE session IN (FROM top_sessions)
        UNION ALL SELECT 'table', t.name, s.run, s.n, s.errors, s.service_ns FROM shapes AS s JOIN group_tables AS t ON s.digest = t.digest
    )
    GROUP BY ALL
), places AS (
    SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY max(total_ns) DESC NULLS LAST, name) AS place
    FROM sums
    GROUP BY kind, name
)
SELECT s.*, p.place FROM sums AS s JOIN places AS p USING (kind, name) WHERE p.place <= 50;

CREATE OR REPLACE TEMP TABLE group_bins AS
WITH bins AS (
    SELECT digest, coalesce(db, '-')::VARCHAR AS db, coalesce("user", '-')::VARCHAR AS "user", class::VARCHAR AS class, run, bin, n, least FROM service_bins
), named AS (
    SELECT 'schema' AS kind, db AS name, run, bin, sum(n)::BIGINT AS n, min(least) AS least FROM bins GROUP BY ALL
    UNION ALL SELECT 'user', "user", run, bin, sum(n), min(least) FROM bins GROUP BY ALL
    UNION ALL SELECT 'class', class, run, bin, sum(n), min(least) FROM bins WHERE class IS NOT NULL GROUP BY ALL
    UNION ALL SELECT 'session', session::VARCHAR, run, bin, n, least FROM session_bins
    UNION ALL SELECT 'table', t.name, s.run, s.bin, sum(s.n), min(s.least) FROM bins AS s JOIN group_tables AS t ON s.digest = t.digest
        WHERE t.name IN (SELECT name FROM group_counts WHERE kind = 'table') GROUP BY ALL
)
SELECT {'kind': kind, 'name': name, 'run': run} AS key, bin, n, least FROM named;

CREATE OR REPLACE TABLE group_quantiles AS
SELECT key.kind AS kind, key.name AS name, key.run AS run, p FROM values_at('group_bins', 'usual', 89);

-- An event whose lateness has only one part is late by the tool.
CREATE OR REPLACE TEMP TABLE cause_bins AS
WITH causes AS (
    SELECT run, unnest(['all', 'session', 'connect', 'order', 'feeder', 'tool']) AS cause, sum(n) AS events FROM late_bins WHERE cause = 'all' GROUP BY run
), all_causes AS (
    SELECT run, cause, bin, n, least, longest_ns, total_ns, over_1ms FROM late_bins
    UNION ALL
    SELECT run, 'tool', bin, n, least, longest_ns, total_ns, over_1ms FROM late_bins WHERE cause = 'all' AND NOT several AND bin >= 0
)
FROM all_causes
UNION ALL
SELECT run, cause, -1, events - coalesce((SELECT sum(n) FROM all_causes AS l WHERE l.run = c.run AND l.cause = c.cause), 0), 0, 0, 0, 0 FROM causes AS c;

CREATE OR REPLACE TEMP VIEW cause_values AS
SELECT {'run': run, 'cause': cause} AS key, bin, n::BIGINT AS n, least FROM cause_bins;

CREATE OR REPLACE TABLE late_quantiles AS
SELECT run, cause, sum(n)::BIGINT AS events, sum(over_1ms)::BIGINT AS over_1ms, any_value(v.p) AS p, max(longest_ns) AS longest_ns, sum(total_ns)::BIGINT AS total_ns
FROM cause_bins AS l
JOIN values_at('cause_values', 'usual', 89) AS v ON l.run = v.key.run AND l.cause = v.key.cause
GROUP BY run, cause;

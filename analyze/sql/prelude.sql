-- SPDX-License-Identifier: Apache-2.0
-- Which names, types and calculations do the analyses of a report share? This file makes them. The files of summary/
-- then count the events of the runs into small tables, and all analyses read these tables.
--
-- Run by hand in the duckdb shell, from the checkout. The variable b may be NULL. Both sides may have several runs,
-- which are the rounds of a comparison:
--   CREATE VIEW tape_event AS FROM 'shop.tape/events/*.parquet';
--   CREATE VIEW tape_digest AS FROM 'shop.tape/digests.parquet';
--   CREATE VIEW old AS SELECT 'a' AS run, 1 AS round, * FROM 'old.run/outcomes/*.parquet';
--   CREATE VIEW new AS SELECT 'b' AS run, 1 AS round, * FROM 'new.run/outcomes/*.parquet';
--   CREATE VIEW every_outcome AS FROM old UNION ALL FROM new;
--   CREATE VIEW run_session AS SELECT 'a' AS run, 1 AS round, * FROM 'old.run/sessions.parquet'
--       UNION ALL SELECT 'b', 1, * FROM 'new.run/sessions.parquet';
--   SET VARIABLE b = 'new.run'; SET VARIABLE skip_ns = 0; SET VARIABLE bin_ns = 1000000000; SET VARIABLE tape_times = false;
--   .read schemas/names.sql
--   .read analyze/sql/prelude.sql
--
-- Existing tables and views:
-- - tape_event, tape_digest: the unchanged tables of the tape. A single run is compared with them.
-- - every_outcome: the unchanged outcomes of the runs, with run ('a' or 'b') and round (from 1).
-- - run_session: the unchanged sessions of the runs, with run and round.
--
-- Repeated names are stored as ENUM numbers, so that a report of 20 million outcomes fits into little memory.
DROP TABLE IF EXISTS joined;
DROP TABLE IF EXISTS failure;
DROP TYPE IF EXISTS digest_name;
DROP TYPE IF EXISTS short_name;
DROP TYPE IF EXISTS result_kind;
CREATE TYPE result_kind AS ENUM ('rows', 'data', 'affected', 'order', 'warnings');

-- The binary logarithm of a time as a whole number of 2^-24. Sums of whole numbers do not depend on the order of
-- summation, so two identical reports have identical bytes. All times below 1 ns count as 1 ns.
CREATE OR REPLACE TEMP MACRO log_of(ns) AS (log2(CASE WHEN ns > 1 THEN ns ELSE 1 END) * 16777216)::INTEGER;
CREATE OR REPLACE TEMP MACRO ln_of(logs) AS logs * (ln(2) / 16777216);

-- A bin of a time on a logarithmic scale with this number of steps per power of two. 712 steps have a relative width of
-- 2^-10. All times below 1 ns are in the first bin.
CREATE OR REPLACE TEMP MACRO bin_of(ns, steps) AS floor(steps * log2(CASE WHEN ns > 1 THEN ns ELSE 1 END))::INTEGER;

-- The rank of a quantile among n values, from 1.
CREATE OR REPLACE TEMP MACRO rank_of(share, n) AS greatest(1, n - floor(n - share * n))::BIGINT;

-- Lists of ranks among n values:
-- - usual: the quantiles 0.5, 0.9, 0.95, 0.99 and 0.999, and the upper one of both middle values.
-- - tail: the quantiles 0.5 and 0.95.
-- - interval: the median, and both ends of its 95 % interval by order statistics.
CREATE OR REPLACE TEMP MACRO ranks_of(wanted, n) AS
    CASE wanted
        WHEN 'usual' THEN [rank_of(0.5, n), rank_of(0.9, n), rank_of(0.95, n), rank_of(0.99, n), rank_of(0.999, n), n // 2 + 1]
        WHEN 'tail' THEN [rank_of(0.5, n), rank_of(0.95, n)]
        WHEN 'interval' THEN
            [(n + 1) // 2, greatest(1, floor(n / 2.0 - 0.98 * sqrt(n)))::BIGINT, least(n, 1 + ceil(n / 2.0 + 0.98 * sqrt(n)))::BIGINT]
    END;

-- The values at these ranks, for each key of a table or view with (key, bin, n, least). The value of a bin is its least
-- value. The counts of `width` bins show which bins contain a rank. Only these bins are sorted.
CREATE OR REPLACE TEMP MACRO values_at(bins, wanted, width) AS TABLE
WITH parts AS (
    SELECT key, bin // width AS part, sum(n)::BIGINT AS n FROM query_table(bins) WHERE n > 0 GROUP BY ALL
), placed AS (
    SELECT key, part, n, (sum(n) OVER (PARTITION BY key ORDER BY part))::BIGINT AS upto, ranks_of(wanted, (sum(n) OVER (PARTITION BY key))::BIGINT) AS ranks
    FROM parts
), chosen AS (
    SELECT key, part, place, ranks[place] - (upto - n) AS rank
    FROM (SELECT *, unnest(generate_series(1, len(ranks))) AS place FROM placed)
    WHERE ranks[place] <= upto AND ranks[place] > upto - n
), near AS (
    SELECT b.key, b.part, b.least, sum(b.n) OVER (PARTITION BY b.key, b.part ORDER BY b.bin) AS upto
    FROM (SELECT key, bin // width AS part, bin, n, least FROM query_table(bins) WHERE n > 0) AS b
    SEMI JOIN chosen AS c ON b.key = c.key AND b.part = c.part
), found AS (
    SELECT c.key, c.place, min(n.least) FILTER (n.upto >= c.rank) AS value
    FROM chosen AS c
    JOIN near AS n ON c.key = n.key AND c.part = n.part
    GROUP BY c.key, c.place
)
SELECT key, list(value ORDER BY place) AS p FROM found GROUP BY key;

-- A key that orders events. The first event is the event with the least key.
CREATE OR REPLACE TEMP MACRO event_key(session, seq, clone, round) AS {'session': session, 'seq': seq, 'clone': clone, 'round': round};

-- Returns the value of the run under test. This is the value of b, or of a if there is only one run.
CREATE OR REPLACE TEMP MACRO new_of(a, b) AS CASE WHEN getvariable('b') IS NULL THEN a ELSE b END;

-- A checksum has the form PROTOCOL:ORDERED:SET. PROTOCOL is the protocol of the rows. ORDERED is the checksum of the
-- rows in their order, and SET is independent of the order.
CREATE OR REPLACE TEMP MACRO protocol_of(checksum) AS regexp_extract(checksum, '^[^:]*');
CREATE OR REPLACE TEMP MACRO set_of(checksum) AS regexp_extract(checksum, '[^:]*$');

-- A block is one of 40 equal parts of the tape's time. Events of one block share the load of the machine at that time.
-- facts.sql sets the variables.
CREATE OR REPLACE TEMP MACRO block_of(start_ns) AS
    least(39, 40 * (start_ns - getvariable('first_ns')) // greatest(getvariable('span_ns'), 1))::TINYINT;

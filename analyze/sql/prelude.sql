-- SPDX-License-Identifier: Apache-2.0
-- What do the runs and the tape contain for each event? This file makes the tables and views that every analysis of a
-- report reads.
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
--   SET VARIABLE b = 'new.run'; SET VARIABLE skip_ns = 0; SET VARIABLE bin_ns = 1000000000;
--   .read schemas/names.sql
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/totals.sql
--
-- Existing tables and views:
-- - tape_event, tape_digest: the unchanged tables of the tape. A single run is compared with them.
-- - every_outcome: the unchanged outcomes of the runs, with run ('a' or 'b') and round (from 1).
-- - run_session: the unchanged sessions of the runs, with run and round.
--
-- Tables and views that this file makes:
-- - joined: one row for each event, clone and round, with the outcomes of both sides (a_..., b_...) and the tape's data
--   of the event. The status is NULL if a side has no outcome. The join is done only once.
-- - joined.kind: how the results differ (results.sql), if both sides had no error. NULL if they are equal, and for
--   commands without a statement (pings, closes), which have no result. With a single run, the sides are the tape
--   and a.
-- - joined.matched: whether the event was answered without an error on both sides.
-- - joined.rows_known, joined.sums_known: whether both sides have the number of sent rows, and comparable checksums.
-- - joined.more_sent: the difference in the number of sent rows.
-- - outcome: one row for each outcome, with the tape's data of its event.
-- - outcome.service_ns: the time from sending to the last byte of the answer.
-- - outcome.log: the log_of the service time.
-- - outcome.response_ns: the time from the due time to the last byte. NULL with --pace none.
-- - outcome.ok: whether the event was answered without an error, after the first skip_ns (a warm-up that is not
--   measured).
-- - outcome.paired: whether the event is ok in both of two runs and has a digest.
-- - outcome.tape_errno: the error number on the tape. 0 = known to have succeeded, NULL = unknown.
-- - failure: the messages of the outcomes with an error.
-- - spans: the first and last times of each run and round.
--
-- This file also sets the variables first_ns and span_ns (the tape's time that side a replayed) and end_ns (just after
-- the last answer). block_of divides the tape's time into 40 equal parts (blocks). Events of one block share the load
-- of the machine at that time.
--
-- Repeated names are stored as ENUM numbers, so that a report of 20 million outcomes fits into little memory.
DROP TABLE IF EXISTS joined;
DROP TABLE IF EXISTS failure;
DROP TYPE IF EXISTS digest_name;
DROP TYPE IF EXISTS short_name;
DROP TYPE IF EXISTS result_kind;
CREATE TYPE result_kind AS ENUM ('rows', 'data', 'affected', 'order', 'warnings');
CREATE TYPE digest_name AS ENUM (SELECT DISTINCT digest FROM tape_event WHERE digest IS NOT NULL ORDER BY 1);
CREATE TYPE short_name AS ENUM (
    SELECT DISTINCT name FROM (
        SELECT unnest([class, "user", db]) AS name FROM (SELECT DISTINCT class, "user", db FROM tape_event)
        UNION ALL SELECT unnest(['a', 'b', '-', 'executed', 'filtered', 'skipped', 'not_sent']))
    WHERE name IS NOT NULL ORDER BY 1);

CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, class::short_name AS class, digest::digest_name AS digest, "user"::short_name AS "user", db::short_name AS db,
    start_ns, errno AS tape_errno, rows_sent, rows_affected, warnings, checksum
FROM tape_event;

CREATE OR REPLACE TEMP TABLE digest_texts AS
SELECT TRY_CAST(digest AS digest_name) AS digest, class, normalized, tables, actions, properties
FROM tape_digest
WHERE TRY_CAST(digest AS digest_name) IS NOT NULL;

-- The binary logarithm of a time as a whole number of 2^-24. Sums of whole numbers do not depend on the order of
-- summation, so two identical reports have identical bytes. All times below 1 ns count as 1 ns.
CREATE OR REPLACE TEMP MACRO log_of(ns) AS (log2(CASE WHEN ns > 1 THEN ns ELSE 1 END) * 16777216)::INTEGER;
CREATE OR REPLACE TEMP MACRO ln_of(logs) AS logs * (ln(2) / 16777216);

-- A bin of a logarithmic scale with this number of steps per power of two. 712 steps have a relative width of 2^-10.
-- The bins of ratios below 1 are not negative, because >> is not defined for negative numbers.
CREATE OR REPLACE TEMP MACRO bin_of(log, steps) AS ((log::BIGINT * steps) >> 24)::INTEGER;
CREATE OR REPLACE TEMP MACRO ratio_bin(log) AS (((log::BIGINT + (64::BIGINT << 24)) * 712) >> 24)::INTEGER;

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

CREATE OR REPLACE TEMP MACRO side(letter) AS TABLE
SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, clone, round, status::short_name AS status, sent_ns, done_ns, done_ns - due_ns AS response_ns,
    status = 'executed' AND done_ns IS NOT NULL AND errno = 0 AND sent_ns >= getvariable('skip_ns') AS ok,
    rows_sent, rows_affected, warnings, checksum, errno
FROM every_outcome
WHERE run = letter;

CREATE TABLE joined AS
WITH known AS (
    SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, class, digest, "user", db, start_ns, tape_errno,
        CASE WHEN getvariable('b') IS NULL THEN rows_sent END AS rows_sent, CASE WHEN getvariable('b') IS NULL THEN rows_affected END AS rows_affected,
        CASE WHEN getvariable('b') IS NULL THEN warnings END AS warnings, CASE WHEN getvariable('b') IS NULL THEN checksum END AS checksum
    FROM event
), met AS (
    SELECT session, seq, clone, round, e.class, e.digest, e."user", e.db, e.start_ns, e.tape_errno,
        a.status AS a_status, a.sent_ns AS a_sent_ns, a.done_ns AS a_done_ns, a.response_ns AS a_response_ns, a.ok AS a_ok,
        a.rows_sent AS a_rows_sent, a.rows_affected AS a_rows_affected, a.errno AS a_errno,
        b.status AS b_status, b.sent_ns AS b_sent_ns, b.done_ns AS b_done_ns, b.response_ns AS b_response_ns, b.ok AS b_ok,
        b.rows_sent AS b_rows_sent, b.rows_affected AS b_rows_affected, b.errno AS b_errno,
        -- pairs to compare: a with b, or the tape with a
        coalesce(a.ok AND CASE WHEN getvariable('b') IS NULL THEN e.session IS NOT NULL ELSE b.ok END, false) AS matched,
        e.class IS NOT NULL AND (getvariable('b') IS NOT NULL OR coalesce(e.tape_errno, 0) = 0) AS sound,
        CASE WHEN getvariable('b') IS NULL THEN e.rows_sent ELSE a.rows_sent END AS old_sent,
        CASE WHEN getvariable('b') IS NULL THEN a.rows_sent ELSE b.rows_sent END AS new_sent,
        CASE WHEN getvariable('b') IS NULL THEN e.rows_affected ELSE a.rows_affected END AS old_affected,
        CASE WHEN getvariable('b') IS NULL THEN a.rows_affected ELSE b.rows_affected END AS new_affected,
        CASE WHEN getvariable('b') IS NULL THEN e.warnings ELSE a.warnings END AS old_warnings,
        CASE WHEN getvariable('b') IS NULL THEN a.warnings ELSE b.warnings END AS new_warnings,
        CASE WHEN getvariable('b') IS NULL THEN e.checksum ELSE a.checksum END AS old_sum,
        CASE WHEN getvariable('b') IS NULL THEN a.checksum ELSE b.checksum END AS new_sum
    FROM side('a') AS a
    FULL JOIN side('b') AS b USING (session, seq, clone, round)
    LEFT JOIN known AS e USING (session, seq)
)
SELECT * EXCLUDE (sound, old_sent, new_sent, old_affected, new_affected, old_warnings, new_warnings, old_sum, new_sum),
    old_sent IS NOT NULL AND new_sent IS NOT NULL AS rows_known,
    CASE WHEN old_sum = new_sum THEN true ELSE coalesce(protocol_of(old_sum) = protocol_of(new_sum), false) END AS sums_known,
    CASE
        WHEN NOT (matched AND sound) THEN NULL
        WHEN old_sent <> new_sent THEN 'rows'
        WHEN old_affected <> new_affected THEN 'affected'
        WHEN old_sum <> new_sum AND sums_known THEN if(set_of(old_sum) <> set_of(new_sum), 'data', 'order')
        WHEN old_warnings <> new_warnings THEN 'warnings'
    END::result_kind AS kind,
    CASE WHEN kind IS NOT NULL THEN new_sent - old_sent END AS more_sent
FROM met;

CREATE OR REPLACE TEMP VIEW outcome AS
SELECT 'a'::short_name AS run, round, session, seq, clone, a_sent_ns AS sent_ns, a_done_ns AS done_ns, a_status AS status,
    a_rows_sent AS rows_sent, a_rows_affected AS rows_affected, a_errno AS errno, a_done_ns - a_sent_ns AS service_ns,
    a_response_ns AS response_ns, log_of(a_done_ns - a_sent_ns) AS log, a_ok AS ok, matched AND digest IS NOT NULL AND getvariable('b') IS NOT NULL AS paired,
    class, digest, "user", db, start_ns, tape_errno
FROM joined
WHERE a_status IS NOT NULL
UNION ALL
SELECT 'b'::short_name, round, session, seq, clone, b_sent_ns, b_done_ns, b_status, b_rows_sent, b_rows_affected, b_errno, b_done_ns - b_sent_ns,
    b_response_ns, log_of(b_done_ns - b_sent_ns), b_ok, matched AND digest IS NOT NULL, class, digest, "user", db, start_ns, tape_errno
FROM joined
WHERE b_status IS NOT NULL;

CREATE TABLE failure AS
SELECT run::short_name AS run, round, session, seq, clone, error FROM every_outcome WHERE errno <> 0 AND error IS NOT NULL;

CREATE OR REPLACE TABLE spans AS
SELECT run, round, min(start_ns) AS first_start_ns, max(start_ns) AS last_start_ns, min(sent_ns) AS first_sent_ns, max(done_ns) AS last_done_ns,
    min(sent_ns) FILTER (ok) AS first_ok_ns, max(sent_ns) FILTER (ok) AS last_ok_ns,
    min(sent_ns) FILTER (paired) AS first_paired_ns, max(sent_ns) FILTER (paired) AS last_paired_ns
FROM outcome
GROUP BY ALL;

SET VARIABLE first_ns = (SELECT min(first_start_ns) FROM spans WHERE run = 'a');
SET VARIABLE span_ns = (SELECT max(last_start_ns) - min(first_start_ns) FROM spans WHERE run = 'a');
SET VARIABLE end_ns = (SELECT greatest(max(last_done_ns), 1) + 1 FROM spans);

CREATE OR REPLACE TEMP MACRO block_of(start_ns) AS
    least(39, 40 * (start_ns - getvariable('first_ns')) // greatest(getvariable('span_ns'), 1))::TINYINT;

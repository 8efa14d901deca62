-- SPDX-License-Identifier: Apache-2.0
-- The tables that every question here reads. By hand, in the duckdb shell, from the checkout; b may be NULL, and both may have
-- several runs, the rounds of a comparison:
--   SET VARIABLE tape = 'shop.tape'; SET VARIABLE a = ['old.run']; SET VARIABLE b = ['new.run'];
--   SET VARIABLE skip_ns = 0; SET VARIABLE bin_ns = 1000000000;
--   .read analyze/prelude.sql
--   .read analyze/pair.sql
--   .read analyze/totals.sql
--
-- tape_event: the tape's events as they are, which one run alone is compared with.
-- every_outcome: the runs' outcomes as they are, with run ('a' or 'b') and round, which counts from 1.
-- outcome: one row for each of them, with what the tape says of its event.
--   service_ns = sent to last byte; response_ns = due to last byte (NULL at --pace none); ok = answered without an error, after
--   the first skip_ns (a warm-up that is left out)
-- Names that repeat are kept as numbers: a report of 20 million outcomes fits into little memory.
CREATE OR REPLACE TEMP VIEW tape_event AS FROM read_parquet(getvariable('tape') || '/events/part-*.parquet');
DROP TABLE IF EXISTS outcome;
DROP TABLE IF EXISTS met;
DROP TYPE IF EXISTS digest_name;
DROP TYPE IF EXISTS short_name;
CREATE TYPE digest_name AS ENUM (SELECT DISTINCT digest FROM tape_event WHERE digest IS NOT NULL ORDER BY 1);
CREATE TYPE short_name AS ENUM (
    SELECT DISTINCT name FROM (
        SELECT unnest([class, "user", db]) AS name FROM (SELECT DISTINCT class, "user", db FROM tape_event)
        UNION ALL SELECT unnest(['a', 'b', 'executed', 'filtered', 'skipped', 'not_sent']))
    WHERE name IS NOT NULL ORDER BY 1);

CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, class::short_name AS class, digest::digest_name AS digest, "user"::short_name AS "user", db::short_name AS db,
    start_ns
FROM tape_event;

-- Why a statement may come to another result each time, or NULL.
CREATE OR REPLACE TEMP MACRO known_reason(text) AS CASE
    WHEN regexp_matches(text, '\b(now|sysdate|curdate|curtime|unix_timestamp|utc_date|utc_time|utc_timestamp)\s*\(|\b(current_timestamp|current_date|current_time|localtime|localtimestamp)\b')
        THEN 'asks the time'
    WHEN regexp_matches(text, '\b(uuid|uuid_short|rand|random_bytes)\s*\(') THEN 'random'
    WHEN regexp_matches(text, '\b(connection_id|last_insert_id|user|current_user|session_user|version|found_rows|row_count)\s*\(|@@')
        THEN 'asks about its session or server'
    WHEN regexp_matches(text, '\blimit\b') AND NOT regexp_matches(text, '\border by\b') THEN 'LIMIT without ORDER BY'
    WHEN regexp_matches(text, '^(show|explain|describe|desc)\b') OR contains(text, 'information_schema') THEN 'asks about the server'
END;

CREATE OR REPLACE TEMP TABLE digest_texts AS
SELECT TRY_CAST(digest AS digest_name) AS digest, normalized, known_reason(normalized) AS known
FROM read_parquet(getvariable('tape') || '/digests.parquet')
WHERE TRY_CAST(digest AS digest_name) IS NOT NULL;

CREATE OR REPLACE TEMP MACRO round_of(runs, filename) AS CASE WHEN len(runs) = 1 THEN 1
    ELSE list_position(runs, regexp_replace(filename, '/outcomes/[^/]*$', '')) END::INTEGER;

CREATE OR REPLACE TEMP VIEW every_outcome AS
SELECT 'a' AS run, NULL::BIGINT AS order_ns, NULL::BOOLEAN AS reader WHERE false -- older runs have no such columns
UNION ALL BY NAME
SELECT 'a' AS run, round_of(getvariable('a'), filename) AS round, * EXCLUDE (filename)
FROM read_parquet(list_transform(getvariable('a'), lambda run: run || '/outcomes/part-*.parquet'),
    union_by_name = true, filename = true)
UNION ALL BY NAME
SELECT 'b' AS run, round_of(getvariable('b'), filename) AS round, * EXCLUDE (filename)
FROM read_parquet(list_transform(coalesce(getvariable('b'), getvariable('a')), lambda run: run || '/outcomes/part-*.parquet'),
    union_by_name = true, filename = true)
WHERE getvariable('b') IS NOT NULL;

CREATE TABLE outcome AS
SELECT
    o.run::short_name AS run, o.round, o.session, o.seq, o.clone, o.sent_ns, o.done_ns, o.status::short_name AS status,
    o.rows_sent, o.rows_affected, o.warnings, o.checksum, o.errno, o.error,
    o.done_ns - o.sent_ns AS service_ns,
    o.done_ns - o.due_ns AS response_ns,
    o.status = 'executed' AND o.done_ns IS NOT NULL AND o.errno = 0 AND o.sent_ns >= getvariable('skip_ns') AS ok,
    e.class, e.digest, e."user", e.db, e.start_ns
FROM every_outcome AS o
LEFT JOIN event AS e USING (session, seq);

-- How a checksum says which protocol its rows came in, and their sum whatever their order: NAME:IN ORDER:AS A SET.
CREATE OR REPLACE TEMP MACRO protocol_of(checksum) AS regexp_extract(checksum, '^[^:]*');
CREATE OR REPLACE TEMP MACRO set_of(checksum) AS regexp_extract(checksum, '[^:]*$');

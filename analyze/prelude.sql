-- SPDX-License-Identifier: Apache-2.0
-- The tables that every question here reads. By hand, in the duckdb shell, from the checkout; b may be NULL, and both may have
-- several runs, the rounds of a comparison:
--   SET VARIABLE tape = 'shop.tape'; SET VARIABLE a = ['old.run']; SET VARIABLE b = ['new.run'];
--   SET VARIABLE skip_ns = 0; SET VARIABLE bin_ns = 1000000000;
--   .read analyze/prelude.sql
--   .read analyze/pair.sql
--   .read analyze/totals.sql
--
-- outcome: one row for each outcome of each run (run is 'a' or 'b', round counts from 1), with what the tape says of its event.
--   service_ns = sent to last byte; response_ns = due to last byte (NULL at --pace none); ok = answered without an error, after
--   the first skip_ns (a warm-up that is left out)
CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, command, class, digest, "user", db, start_ns, duration_ns, rows_sent, rows_affected, warnings, checksum, errno
FROM read_parquet(getvariable('tape') || '/events/part-*.parquet');

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
SELECT digest, normalized, known_reason(normalized) AS known FROM read_parquet(getvariable('tape') || '/digests.parquet');

CREATE OR REPLACE TEMP MACRO round_of(runs, filename) AS
    list_position(runs, regexp_replace(filename, '/outcomes/[^/]*$', ''))::INTEGER;

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

CREATE OR REPLACE TEMP TABLE outcome AS
SELECT
    o.run, o.round, o.session, o.seq, o.clone, o.due_ns, o.fed_ns, o.free_ns, o.sent_ns, o.done_ns, o.status, o.reason,
    o.rows_sent, o.rows_affected, o.warnings, o.checksum, o.order_ns, o.errno, o.error,
    o.done_ns - o.sent_ns AS service_ns,
    o.done_ns - o.due_ns AS response_ns,
    o.status = 'executed' AND o.done_ns IS NOT NULL AND o.errno = 0 AND o.sent_ns >= getvariable('skip_ns') AS ok,
    e.class, e.digest, e."user", e.db, e.start_ns,
    e.duration_ns AS tape_ns, e.errno AS tape_errno, e.rows_sent AS tape_rows_sent,
    e.rows_affected AS tape_rows_affected, e.warnings AS tape_warnings, e.checksum AS tape_checksum,
    split_part(o.checksum, ':', 1) AS protocol, split_part(o.checksum, ':', 3) AS row_set,
    split_part(e.checksum, ':', 1) AS tape_protocol, split_part(e.checksum, ':', 3) AS tape_row_set
FROM every_outcome AS o
LEFT JOIN event AS e USING (session, seq);

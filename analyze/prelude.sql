-- SPDX-License-Identifier: Apache-2.0
-- The tables that every question here reads. By hand, in the duckdb shell, from the checkout (b may be left out):
--   SET VARIABLE tape = 'shop.tape'; SET VARIABLE a = 'a.run'; SET VARIABLE b = 'b.run';
--   SET VARIABLE margin = 0.2; SET VARIABLE margin_ns = 50000; SET VARIABLE z = 3.3; SET VARIABLE bin_ns = 1000000000;
--   .read analyze/prelude.sql
--   .read analyze/totals.sql
--
-- outcome: one row for each outcome of each run (run is 'a' or 'b'), with what the tape says of its event.
--   service_ns = sent to last byte; response_ns = due to last byte (NULL at --pace none); ok = answered without an error
CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, command, class, digest, db, start_ns, duration_ns, rows_sent, rows_affected, warnings, checksum, errno
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

CREATE OR REPLACE TEMP VIEW every_outcome AS
SELECT 'a' AS run, NULL::BIGINT AS order_ns WHERE false -- older runs have no such column
UNION ALL BY NAME
SELECT 'a' AS run, * FROM read_parquet(getvariable('a') || '/outcomes/part-*.parquet')
UNION ALL BY NAME
SELECT 'b' AS run, *
FROM read_parquet(coalesce(getvariable('b'), getvariable('a')) || '/outcomes/part-*.parquet')
WHERE getvariable('b') IS NOT NULL;

CREATE OR REPLACE TEMP TABLE outcome AS
SELECT
    o.run, o.session, o.seq, o.clone, o.due_ns, o.fed_ns, o.free_ns, o.sent_ns, o.first_ns, o.done_ns, o.status, o.reason,
    o.rows_sent, o.rows_affected, o.warnings, o.checksum, o.order_ns, o.errno, o.error,
    o.done_ns - o.sent_ns AS service_ns,
    o.done_ns - o.due_ns AS response_ns,
    o.status = 'executed' AND o.done_ns IS NOT NULL AND o.errno = 0 AS ok,
    e.command, e.class, e.digest, e.db,
    e.duration_ns AS tape_ns, e.errno AS tape_errno, e.rows_sent AS tape_rows_sent,
    e.rows_affected AS tape_rows_affected, e.warnings AS tape_warnings, e.checksum AS tape_checksum,
    split_part(o.checksum, ':', 1) AS protocol, split_part(o.checksum, ':', 3) AS row_set,
    split_part(e.checksum, ':', 1) AS tape_protocol, split_part(e.checksum, ':', 3) AS tape_row_set
FROM every_outcome AS o
LEFT JOIN event AS e USING (session, seq);

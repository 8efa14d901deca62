-- SPDX-License-Identifier: Apache-2.0
-- The tables that every question here reads. By hand, in the duckdb shell, from the checkout (b may be left out):
--   SET VARIABLE tape = 'shop.tape'; SET VARIABLE a = 'a.run'; SET VARIABLE b = 'b.run';
--   SET VARIABLE margin = 0.2; SET VARIABLE margin_ns = 50000; SET VARIABLE z = 3.3; SET VARIABLE bin_ns = 1000000000;
--   .read analyze/prelude.sql
--   .read analyze/totals.sql
--
-- outcome: one row for each outcome of each run (run is 'a' or 'b'), with what the tape says of its event.
--   service_ns = sent to last byte; response_ns = due to last byte (NULL at --speed max); ok = answered without an error
CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, command, class, digest, db, start_ns, duration_ns, rows_sent, rows_affected, errno
FROM read_parquet(getvariable('tape') || '/events/part-*.parquet');

CREATE OR REPLACE TEMP VIEW every_outcome AS
SELECT 'a' AS run, * FROM read_parquet(getvariable('a') || '/outcomes/part-*.parquet')
UNION ALL BY NAME
SELECT 'b' AS run, *
FROM read_parquet(coalesce(getvariable('b'), getvariable('a')) || '/outcomes/part-*.parquet')
WHERE getvariable('b') IS NOT NULL;

CREATE OR REPLACE TEMP TABLE outcome AS
SELECT
    o.run, o.session, o.seq, o.clone, o.due_ns, o.fed_ns, o.free_ns, o.sent_ns, o.first_ns, o.done_ns, o.status, o.reason,
    o.rows_sent, o.rows_affected, o.errno, o.error,
    o.done_ns - o.sent_ns AS service_ns,
    o.done_ns - o.due_ns AS response_ns,
    o.status = 'executed' AND o.done_ns IS NOT NULL AND o.errno = 0 AS ok,
    e.command, e.class, e.digest, e.db,
    e.duration_ns AS tape_ns, e.errno AS tape_errno, e.rows_sent AS tape_rows_sent
FROM every_outcome AS o
LEFT JOIN event AS e USING (session, seq);

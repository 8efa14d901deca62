-- SPDX-License-Identifier: Apache-2.0
-- Fill the table later_uses, and return the uses of its digest numbers (digest, table, what), sorted by digest.
--
-- The first plain read of a transaction opens its snapshot. If DDL such as ENGINE or TRUNCATE is newer than the snapshot,
-- the server refuses to read or lock rows of its table (error 1412). If the transaction did this, no such DDL ended in
-- between. The first read therefore counts as a read of the table (docs/order.md, rule 11).
--
-- Input: the tables all_events, known_digests, known_uses and later_uses (commit_order.py), and these variables:
-- - locks, own, reads: bits of facts; asks, later: bits of what
-- - first_table: the lowest number of a real table
CREATE OR REPLACE TEMP TABLE reads_with_more AS
WITH changed AS (
    SELECT DISTINCT table_no FROM known_uses SEMI JOIN (
        FROM all_events SEMI JOIN (FROM known_digests WHERE redefines) USING (digest_no)
        WHERE sent AND facts & getvariable('own') <> 0) USING (digest_no)
    WHERE table_no >= getvariable('first_table')
), changing AS (
    SELECT digest_no, table_no FROM known_uses SEMI JOIN changed USING (table_no)
    WHERE what & getvariable('asks') <> 0
), readers AS (
    SELECT session, tx_first, min(seq) AS seq, arg_min(digest_no, seq) AS digest_no FROM all_events
    WHERE sent AND tx_first IS NOT NULL
        AND facts & getvariable('reads') <> 0 AND facts & getvariable('locks') = 0
        AND digest_no IN (SELECT digest_no FROM known_uses)
    GROUP BY session, tx_first
), later AS (
    SELECT r.session, r.seq, r.digest_no, list_sort(list(DISTINCT c.table_no)) AS tables
    FROM all_events e JOIN changing c USING (digest_no) JOIN readers r ON r.session = e.session
        AND r.tx_first = e.tx_first AND r.seq < e.seq AND e.seq IS DISTINCT FROM e.tx_end
    WHERE e.sent
    GROUP BY ALL
)
SELECT *, (SELECT count(*) FROM known_digests) - 1 + dense_rank() OVER (ORDER BY digest_no, tables) AS number FROM later;

INSERT INTO later_uses SELECT session, seq, number FROM reads_with_more;

WITH made AS (SELECT DISTINCT number, digest_no, tables FROM reads_with_more), own AS (
    SELECT number, table_no, what FROM made JOIN known_uses USING (digest_no)
)
FROM own UNION ALL
SELECT number, table_no, getvariable('later') FROM (SELECT number, unnest(tables) AS table_no FROM made)
ANTI JOIN own USING (number, table_no)
ORDER BY ALL

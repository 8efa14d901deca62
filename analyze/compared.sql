-- SPDX-License-Identifier: Apache-2.0
-- How many events could be compared by each kind of result? One row. Input: outcome, tape_event.
WITH both_sides AS (
    SELECT a.rows_sent AS rows_a, b.rows_sent AS rows_b, a.checksum AS sum_a, b.checksum AS sum_b
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round AND b.ok
    WHERE a.run = 'a' AND a.ok
    UNION ALL
    SELECT a.rows_sent, t.rows_sent, a.checksum, t.checksum
    FROM outcome AS a
    JOIN tape_event AS t USING (session, seq)
    WHERE a.run = 'a' AND a.ok AND getvariable('b') IS NULL
)
SELECT count(*) FILTER (rows_a IS NOT NULL AND rows_b IS NOT NULL) AS rows,
    count(*) FILTER (protocol_of(sum_a) = protocol_of(sum_b)) AS checksums
FROM both_sides

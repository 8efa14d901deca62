-- SPDX-License-Identifier: Apache-2.0
-- How many events could be compared by each kind of result? One row. Input: outcome.
SELECT
    count(*) FILTER (a.rows_sent IS NOT NULL AND coalesce(b.rows_sent, a.tape_rows_sent) IS NOT NULL) AS rows,
    count(*) FILTER (a.protocol = coalesce(b.protocol, a.tape_protocol)) AS checksums
FROM outcome AS a
LEFT JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round AND b.ok
WHERE a.run = 'a' AND a.ok AND (b.run IS NOT NULL OR getvariable('b') IS NULL)

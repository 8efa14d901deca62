-- SPDX-License-Identifier: Apache-2.0
-- met: one row for each event that was answered without an error on both sides, in each round; the sides are joined once, for all who
-- compare them. With one run the other side is the tape, whose times were taken elsewhere: a_ns is NULL there.
--   block        which of 40 equal parts of the tape's time it lies in: neighbours share what the machine did meanwhile
--   rows_known, sums_known   both sides know how many rows were sent; checksums that can be compared
--   kind         in what its result differs (results.sql), with more_sent, session and seq; else they are NULL
-- pair: those of two runs, with a digest; what all paired questions read.
-- Input: outcome, tape_event (prelude.sql).
CREATE TABLE met AS
WITH span AS (
    SELECT min(start_ns) AS first_ns, max(start_ns) - min(start_ns) AS span_ns FROM outcome WHERE run = 'a'
), sides AS (
    SELECT a.digest, a.round, a.session, a.seq, a.start_ns, a.service_ns AS a_ns, b.service_ns AS b_ns, true AS sound,
        a.rows_sent AS sent_a, b.rows_sent AS sent_b, a.rows_affected AS affected_a, b.rows_affected AS affected_b,
        a.warnings AS warnings_a, b.warnings AS warnings_b, a.checksum AS sum_a, b.checksum AS sum_b
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round
    WHERE a.run = 'a' AND a.ok AND b.ok
    UNION ALL
    SELECT o.digest, o.round, o.session, o.seq, o.start_ns, NULL, o.service_ns, coalesce(t.errno, 0) = 0, t.rows_sent, o.rows_sent,
        t.rows_affected, o.rows_affected, t.warnings, o.warnings, t.checksum, o.checksum
    FROM outcome AS o
    JOIN tape_event AS t USING (session, seq)
    WHERE o.run = 'a' AND o.ok AND getvariable('b') IS NULL
), judged AS (
    SELECT *, CASE
        WHEN NOT sound THEN NULL
        WHEN sent_a <> sent_b THEN 'rows'
        WHEN affected_a <> affected_b THEN 'affected'
        WHEN protocol_of(sum_a) = protocol_of(sum_b) AND set_of(sum_a) <> set_of(sum_b) THEN 'data'
        WHEN protocol_of(sum_a) = protocol_of(sum_b) AND sum_a <> sum_b THEN 'order'
        WHEN warnings_a <> warnings_b THEN 'warnings'
        END AS kind
    FROM sides
)
SELECT digest, round, a_ns, b_ns, least(39, 40 * (start_ns - first_ns) // greatest(span_ns, 1))::INTEGER AS block,
    sent_a IS NOT NULL AND sent_b IS NOT NULL AS rows_known,
    coalesce(protocol_of(sum_a) = protocol_of(sum_b), false) AS sums_known,
    kind,
    CASE WHEN kind IS NOT NULL THEN sent_b - sent_a END AS more_sent,
    CASE WHEN kind IS NOT NULL THEN session END AS session,
    CASE WHEN kind IS NOT NULL THEN seq END AS seq
FROM judged
CROSS JOIN span;

CREATE OR REPLACE TEMP VIEW pair AS
SELECT digest, round, a_ns, b_ns, block FROM met WHERE digest IS NOT NULL AND getvariable('b') IS NOT NULL;

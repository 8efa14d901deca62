-- SPDX-License-Identifier: Apache-2.0
-- Where did the same event, answered without an error on both sides, come to another result? Per digest and kind:
--   rows      another number of rows was sent                 affected  another number was changed
--   data      as many rows, other ones (checksums)            order     the same rows in another order
--   warnings  another number of warnings
-- `known`: why that may be so on two servers that are both right; NULL = no such reason is in the statement.
-- With two runs the reference is a; with one it is the tape, where it knows. Input: outcome, tape_event, digest_texts.
WITH compared AS (
    SELECT b.digest, b.session, b.seq, a.rows_sent AS sent_a, b.rows_sent AS sent_b, a.rows_affected AS affected_a,
        b.rows_affected AS affected_b, a.warnings AS warnings_a, b.warnings AS warnings_b, a.checksum AS sum_a,
        b.checksum AS sum_b
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round AND b.ok
    WHERE a.run = 'a' AND a.ok
    UNION ALL
    SELECT o.digest, o.session, o.seq, t.rows_sent, o.rows_sent, t.rows_affected, o.rows_affected, t.warnings, o.warnings,
        t.checksum, o.checksum
    FROM outcome AS o
    JOIN tape_event AS t USING (session, seq)
    WHERE o.run = 'a' AND o.ok AND getvariable('b') IS NULL AND coalesce(t.errno, 0) = 0
), judged AS (
    SELECT digest, session, seq, sent_a, sent_b, CASE
        WHEN sent_a <> sent_b THEN 'rows'
        WHEN affected_a <> affected_b THEN 'affected'
        WHEN protocol_of(sum_a) = protocol_of(sum_b) AND set_of(sum_a) <> set_of(sum_b) THEN 'data'
        WHEN protocol_of(sum_a) = protocol_of(sum_b) AND sum_a <> sum_b THEN 'order'
        WHEN warnings_a <> warnings_b THEN 'warnings'
        END AS kind
    FROM compared
)
SELECT j.kind, j.digest, any_value(d.known) AS known, count(*) AS events,
    sum(sent_b - sent_a)::BIGINT AS more_sent,
    arg_min(j.session, (j.session, j.seq)) AS first_session, arg_min(j.seq, (j.session, j.seq)) AS first_seq
FROM judged j
LEFT JOIN digest_texts d ON j.digest = d.digest
WHERE j.kind IS NOT NULL
GROUP BY j.kind, j.digest
ORDER BY list_position(['rows', 'data', 'affected', 'order', 'warnings'], j.kind), events DESC, j.digest

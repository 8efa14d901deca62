-- SPDX-License-Identifier: Apache-2.0
-- Which events were answered without an error in both a and b? They are joined once here, for all analyses that compare them.
-- matched_events: one row for each such event, in each round. With one run, it is compared with the tape, whose times were taken
-- elsewhere: a_ns is NULL there.
--   block        which of 40 equal parts of the tape's time it is in: neighbours share what the machine did then
--   rows_known, sums_known   whether both know how many rows were sent; whether both have checksums that can be compared
--   kind         how its result differs (results.sql), with more_sent, session, seq and start_ns; NULL where it does not, and of
--                commands without a statement (pings, closes): they have no result
-- paired_times: those of two runs, with a digest.
-- Input: outcome, tape_event (prelude.sql).
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
CREATE TABLE matched_events AS
WITH span AS (
    SELECT min(start_ns) AS first_ns, max(start_ns) - min(start_ns) AS span_ns FROM outcome WHERE run = 'a'
), joined AS (
    SELECT a.digest, a.round, a.session, a.seq, a.start_ns, a.service_ns AS a_ns, b.service_ns AS b_ns, a.class IS NOT NULL AS sound,
        a.rows_sent AS sent_a, b.rows_sent AS sent_b, a.rows_affected AS affected_a, b.rows_affected AS affected_b,
        a.warnings AS warnings_a, b.warnings AS warnings_b, a.checksum AS sum_a, b.checksum AS sum_b
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round
    WHERE a.run = 'a' AND a.ok AND b.ok
    UNION ALL
    SELECT o.digest, o.round, o.session, o.seq, o.start_ns, NULL, o.service_ns, coalesce(t.errno, 0) = 0 AND o.class IS NOT NULL, t.rows_sent, o.rows_sent,
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
    FROM joined
)
SELECT digest, round, a_ns, b_ns, least(39, 40 * (start_ns - first_ns) // greatest(span_ns, 1))::INTEGER AS block,
    sent_a IS NOT NULL AND sent_b IS NOT NULL AS rows_known,
    coalesce(protocol_of(sum_a) = protocol_of(sum_b), false) AS sums_known,
    kind,
    CASE WHEN kind IS NOT NULL THEN sent_b - sent_a END AS more_sent,
    CASE WHEN kind IS NOT NULL THEN session END AS session,
    CASE WHEN kind IS NOT NULL THEN seq END AS seq,
    CASE WHEN kind IS NOT NULL THEN start_ns END AS start_ns
FROM judged
CROSS JOIN span;

CREATE OR REPLACE TEMP VIEW paired_times AS
SELECT digest, round, a_ns, b_ns, block FROM matched_events WHERE digest IS NOT NULL AND getvariable('b') IS NOT NULL;

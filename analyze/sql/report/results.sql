-- SPDX-License-Identifier: Apache-2.0
-- Which events, answered without an error on both sides, have another result? Per digest and kind:
--   rows      another number of rows was sent                 affected  another number of rows was changed
--   data      as many rows, with other data (checksums)            order     the same rows in another order
--   warnings  another number of warnings
-- `known`: why that may be so on two servers that are both right; NULL = no such reason is in the statement.
-- With two runs the reference is a; with one it is the tape, where it knows. Input: matched_events, digest_texts.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/results.sql
SELECT m.kind, m.digest, any_value(d.known) AS known, count(*) AS events,
    sum(m.more_sent)::BIGINT AS more_sent,
    arg_min(m.session, (m.session, m.seq)) AS first_session, arg_min(m.seq, (m.session, m.seq)) AS first_seq
FROM matched_events AS m
LEFT JOIN digest_texts AS d ON m.digest = d.digest
WHERE m.kind IS NOT NULL
GROUP BY m.kind, m.digest
ORDER BY list_position(['rows', 'data', 'affected', 'order', 'warnings'], m.kind), events DESC, m.digest

-- SPDX-License-Identifier: Apache-2.0
-- How long are the transactions? Between BEGIN or START TRANSACTION and COMMIT or ROLLBACK of a session: statements and time. Those of
-- autocommit are one statement each and not in it. Input: tape_events.
WITH marked AS (
    SELECT session, seq, start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns, class,
        CASE WHEN class = 'transaction' THEN lower(left(trim(statement::VARCHAR), 12)) ELSE '' END AS word
    FROM tape_events
), counted AS (
    SELECT *, count(*) FILTER (starts_with(word, 'begin') OR starts_with(word, 'start trans'))
        OVER (PARTITION BY session ORDER BY seq) AS number
    FROM marked
), ended AS (
    SELECT session, number, min(seq) FILTER (starts_with(word, 'commit') OR word = 'rollback') AS last_seq,
        bool_or(starts_with(word, 'rollback')) AS undone
    FROM counted
    WHERE number > 0
    GROUP BY ALL
), whole AS (
    SELECT c.session, c.number, count(*) - 2 AS statements, max(c.end_ns) - min(c.start_ns) AS span_ns,
        count(*) FILTER (c.class = 'write') AS writes, any_value(e.undone) AS undone
    FROM counted AS c
    JOIN ended AS e ON c.session = e.session AND c.number = e.number AND c.seq <= e.last_seq
    GROUP BY ALL
)
SELECT count(*) AS transactions, count(*) FILTER (undone) AS rolled_back, count(*) FILTER (writes = 0) AS only_reading,
    quantile_disc(statements, [0.5, 0.95]) AS statements, max(statements) AS most_statements,
    quantile_disc(span_ns, [0.5, 0.95]) AS span_ns, max(span_ns) AS longest_ns
FROM whole

-- SPDX-License-Identifier: Apache-2.0
-- Which transactions are on the tape? One row each: session, first_seq (its BEGIN), last_seq (its COMMIT or ROLLBACK, or the
-- event before the next BEGIN; 2^62 where the tape ends first), end_seq (the event that ends it: also the next BEGIN), start_ns.
-- Input: view tape_events with session, seq, start_ns, class, statement, errno.
-- Under autocommit = 0 the next one begins behind each end. A deadlock (1213) rolls its victim back. What DDL commits by the way is
-- not seen here.
WITH texts AS (
    SELECT session, seq, start_ns, errno,
        CASE WHEN class IN ('transaction', 'session') THEN lower(trim(statement::VARCHAR)) ELSE '' END AS text
    FROM tape_events
    WHERE (class IN ('transaction', 'session') AND statement IS NOT NULL) OR errno = 1213
), marked AS (
    SELECT session, seq, start_ns, CASE
        WHEN errno = 1213 THEN 'rollback'
        WHEN regexp_matches(text, '^(begin($|[\s;]|work)|start\s+transaction|xa\s+(start|begin))') THEN 'begin'
        WHEN regexp_matches(text, '^commit') OR regexp_matches(text, '^xa\s+commit') THEN 'commit'
        WHEN regexp_matches(text, '^rollback') AND NOT regexp_matches(text, '^rollback\s+(work\s+)?to\s') THEN 'rollback'
        WHEN regexp_matches(text, '^set\s.*autocommit\s*:?=\s*(0|off|false)') THEN 'auto_off'
        WHEN regexp_matches(text, '^set\s.*autocommit\s*:?=') THEN 'auto_on'
        END AS mark
    FROM texts
), ordered AS (
    SELECT session, seq, start_ns, mark,
        lead(seq) OVER by_seq AS next_seq,
        lead(mark) OVER by_seq AS next_mark,
        last_value(CASE WHEN mark IN ('auto_off', 'auto_on') THEN mark END IGNORE NULLS) OVER so_far AS auto
    FROM marked
    WHERE mark IS NOT NULL
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq),
        so_far AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT session,
    CASE WHEN mark = 'begin' THEN seq ELSE seq + 1 END AS first_seq,
    CASE
        WHEN next_seq IS NULL THEN 4611686018427387904
        WHEN next_mark IN ('commit', 'rollback', 'auto_on') THEN next_seq
        ELSE next_seq - 1
    END AS last_seq,
    next_seq AS end_seq,
    start_ns
FROM ordered
WHERE mark = 'begin' OR mark = 'auto_off' OR (mark IN ('commit', 'rollback') AND auto = 'auto_off')

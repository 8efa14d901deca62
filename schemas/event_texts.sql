-- SPDX-License-Identifier: Apache-2.0
-- Which statement text does each event have? The result has one row for each event that has a statement or executes
-- one. `text` is the statement with its bound values.
--
-- Input: the views tape_events and companions (companions.sql), and the function statement_text (capture/literals.py).
--
-- Run by hand: `querytape sql shop.tape -c 'SELECT text FROM event_texts WHERE session = 1 AND seq = 7'`
WITH prepared AS (
    SELECT session, stmt, any_value(statement) AS statement
    FROM tape_events
    WHERE command = 'prepare' AND stmt IS NOT NULL
    GROUP BY session, stmt
), long_data AS (
    SELECT l.session, m.lead_seq AS seq, list(l.params ORDER BY l.seq) AS parts
    FROM tape_events AS l
    JOIN companions AS m ON l.session = m.session AND l.seq = m.seq
    WHERE l.command = 'long_data' AND l.params IS NOT NULL
        -- A RESET discards the long data that was sent earlier.
        AND l.seq > coalesce((SELECT max(r.seq) FROM companions AS r
            JOIN tape_events AS e ON e.session = r.session AND e.seq = r.seq AND e.command = 'reset_stmt'
            WHERE r.session = m.session AND r.lead_seq = m.lead_seq AND r.seq < m.lead_seq), 0)
    GROUP BY ALL
)
SELECT e.session, e.seq, e.start_ns, e.command, e."user", e.db, e.class, e.digest, e.duration_ns, e.rows_sent, e.errno, e.error, e.flags,
    statement_text(coalesce(e.statement, p.statement), e.params, d.parts, e.flags) AS text
FROM tape_events AS e
LEFT JOIN prepared AS p ON e.session = p.session AND e.stmt = p.stmt
LEFT JOIN long_data AS d ON e.session = d.session AND e.seq = d.seq
WHERE e.statement IS NOT NULL OR (p.statement IS NOT NULL AND e.command IN ('execute', 'bulk_execute'))

-- SPDX-License-Identifier: Apache-2.0
-- Which commands belong to an EXECUTE, so that a selection keeps both or neither? The result has one row for each
-- command: session, seq, and lead_seq, lead_ns, lead_digest, lead_class and lead_db of its EXECUTE.
--
-- Long data and RESET belong to the next EXECUTE of their statement. If no EXECUTE follows, a RESET belongs to the
-- previous EXECUTE. A FETCH always belongs to the previous EXECUTE.
--
-- Input: the view tape_events with session, seq, start_ns, command, stmt, digest, class, db.
--
-- Run by hand: CREATE VIEW tape_events AS FROM 'shop.tape/events/*.parquet'; this text
WITH followers AS (
    SELECT session, stmt, seq, command FROM tape_events
    WHERE command IN ('long_data', 'reset_stmt', 'fetch') AND stmt IS NOT NULL
), leaders AS (
    SELECT session, stmt, seq AS lead_seq, start_ns AS lead_ns, digest AS lead_digest, class AS lead_class, db AS lead_db
    FROM tape_events
    WHERE command IN ('execute', 'bulk_execute') AND (session, stmt) IN (SELECT (session, stmt) FROM followers)
), next_one AS (
    SELECT f.session, f.seq, l.* EXCLUDE (session, stmt)
    FROM followers f
    ASOF JOIN leaders l ON f.session = l.session AND f.stmt = l.stmt AND f.seq <= l.lead_seq
    WHERE f.command <> 'fetch'
)
FROM next_one
UNION ALL
SELECT f.session, f.seq, l.* EXCLUDE (session, stmt)
FROM (SELECT * FROM followers ANTI JOIN next_one USING (session, seq) WHERE command <> 'long_data') f
ASOF JOIN leaders l ON f.session = l.session AND f.stmt = l.stmt AND f.seq >= l.lead_seq

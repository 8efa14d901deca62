-- SPDX-License-Identifier: Apache-2.0
-- What did each executed statement do, and in which transaction?
--
-- - tx: the number of the transaction. NULL under autocommit.
-- - text: equal for equal statements with equal parameters in the same schema.
-- - ended: committed, rolled back, deadlock, left open (the session ended first), or tape ended.
--
-- Input: the views tape_events and tape_sessions; the tables workload_digests and found_transactions
-- (schemas/transactions.sql); the macros executes, resets_session, has_action and rolled_back. Makes: the tables
-- workload_tx and workload_events.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_sessions AS FROM 'shop.tape/sessions.parquet';
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read schemas/names.sql
--   .read schemas/event_macros.sql
--   .read analyze/sql/workload/digests.sql
--   CREATE TABLE found_transactions AS SELECT 1 AS session, 1 AS first_seq, 2 AS last_seq, 2 AS end_seq;
--   .read analyze/sql/workload/events.sql
CREATE OR REPLACE TABLE workload_tx AS
SELECT row_number() OVER (ORDER BY f.session, f.first_seq) AS tx, f.session, f.first_seq, f.last_seq,
    CASE
        WHEN f.end_seq IS NULL THEN CASE WHEN s.quit_seen THEN 'left open' ELSE 'tape ended' END
        WHEN resets_session(e.command) THEN 'left open'
        WHEN rolled_back(e.errno) THEN 'deadlock'
        WHEN has_action(e.actions, 'rollback') THEN 'rolled back'
        ELSE 'committed'
    END AS ended,
    coalesce(e.start_ns + coalesce(e.duration_ns, 0), s.last_ns) AS end_ns
FROM found_transactions AS f
LEFT JOIN (
    SELECT session, seq, start_ns, duration_ns, actions, errno, command FROM tape_events WHERE class IS NOT NULL OR resets_session(command)
) AS e ON f.session = e.session AND f.end_seq = e.seq
LEFT JOIN tape_sessions AS s ON f.session = s.session;

CREATE OR REPLACE TABLE workload_events AS
WITH executed AS (
    SELECT e.session, e.seq, e.start_ns, e.start_ns + coalesce(e.duration_ns, 0) AS end_ns, e.duration_ns, e.lock_ns, d.id AS digest,
        e.class, e.errno, e.rows_sent, hash(e.checksum) AS checksum, e.checksum IS NOT NULL AS checksum_known,
        hash(e.statement, e.params, e.db) AS text
    FROM tape_events AS e
    JOIN workload_digests AS d USING (digest)
    WHERE executes(e.command)
)
SELECT e.*, CASE WHEN e.seq <= t.last_seq THEN t.tx END AS tx
FROM executed AS e
ASOF LEFT JOIN workload_tx AS t ON e.session = t.session AND e.seq >= t.first_seq

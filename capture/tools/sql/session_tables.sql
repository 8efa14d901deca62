-- SPDX-License-Identifier: Apache-2.0
-- Which locked tables does each session use? A table is locked if some statement of the tape writes it or locks its
-- rows. Columns: place (schema.table, or the table alone if its schema is unknown somewhere), sessions (a list). Each
-- list of tables has one row for all sessions that use exactly these tables: places, sessions.
--
-- The place * stands for statements whose tables are unknown, and GET_LOCK() for all user-level locks.
--
-- Input: the views tape_events and tape_digests.
WITH named AS (
    SELECT
        digest,
        class IN ('write', 'ddl') OR has_action(actions, 'locking_read') OR has_action(actions, 'lock_tables') AS locks,
        has_property(properties, 'changes_schema') AS changes_schema,
        unnest(list_concat(
            CASE WHEN has_property(properties, 'takes_user_lock') OR has_property(properties, 'frees_user_lock')
                OR has_property(properties, 'looks_at_user_lock') THEN ['GET_LOCK()'] ELSE [] END,
            CASE WHEN tables IS NULL OR has_action(actions, 'snapshot') OR has_property(properties, 'calls_procedure')
                OR (len(tables) = 0 AND class NOT IN ('read', 'session', 'transaction')) THEN ['*']
                ELSE tables END)) AS name
    FROM tape_digests
), used AS (
    SELECT DISTINCT
        e.session,
        CASE WHEN n.changes_schema THEN NULL ELSE nullif(lower(e.db), '') END AS db,
        n.name,
        n.locks OR n.name IN ('*', 'GET_LOCK()') AS locks
    FROM tape_events e
    JOIN named n USING (digest)
    WHERE (e.flags >> 16) & 255 = 0  -- the replay sends no dangerous statements
    UNION
    SELECT DISTINCT session, NULL, '*', true
    FROM tape_events
    WHERE digest IS NULL AND class NOT IN ('session', 'transaction') AND (flags >> 16) & 255 = 0
), parsed AS (
    SELECT session, locks, name, db, list_transform(
        regexp_extract_all(name, '`(?:[^`]|``)*`|[^.`]+'),
        lambda part: lower(CASE WHEN part[1] = '`' THEN replace(part[2:-2], '``', '`') ELSE part END)) AS parts
    FROM used
), split AS (
    SELECT
        session,
        locks,
        CASE WHEN name IN ('*', 'GET_LOCK()') THEN name ELSE parts[-1] END AS bare,
        CASE WHEN name IN ('*', 'GET_LOCK()') THEN '' WHEN len(parts) > 1 THEN parts[-2] ELSE db END AS schema
    FROM parsed
), placed AS (
    SELECT
        session,
        locks,
        CASE WHEN schema = '' OR bool_or(schema IS NULL) OVER (PARTITION BY bare) THEN bare
            ELSE schema || '.' || bare END AS place
    FROM split
), edges AS (
    SELECT DISTINCT session, place
    FROM placed
    WHERE place IN (SELECT place FROM placed WHERE locks)
)
SELECT places, list(session ORDER BY session) AS sessions
FROM (SELECT session, list(place ORDER BY place) AS places FROM edges GROUP BY session)
GROUP BY places
ORDER BY places

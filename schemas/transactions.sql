-- SPDX-License-Identifier: Apache-2.0
-- Which transactions are on the tape? The result has one row for each transaction. Columns:
-- - session
-- - first_seq: its BEGIN.
-- - last_seq: its COMMIT or ROLLBACK. If BEGIN or DDL ends the transaction implicitly, last_seq is the event before the
--   BEGIN or DDL. If the tape ends first, last_seq is 2^62.
-- - end_seq: the event that ends the transaction.
-- - begin_seq: the first event that must be sent to repeat the transaction.
-- - chain: first_seq of the first transaction of its chain. In a chain, the same event ends one transaction and begins
--   the next. All transactions of a chain are sent, or none.
-- - start_ns: the start of the chain.
--
-- Under autocommit = 0, the next transaction begins after each end. LOCK TABLES also forms a chain, which lasts until
-- UNLOCK TABLES. A deadlock rolls back its victim. A disconnect, a reset and a change of the user end everything.
--
-- Input: the view tape_events with session, seq, start_ns, command, class, actions, errno; the macros of
-- event_macros.sql and names.sql.
--
-- Run by hand: `event_selection.define_macros(con)`, then CREATE VIEW tape_events AS FROM 'shop.tape/events/*.parquet';
-- this text
WITH marked AS (
    SELECT session, seq, start_ns,
        class = 'transaction' AS only_that,
        has_action(actions, 'begin') AS begins,
        has_action(actions, 'commit') OR has_action(actions, 'rollback') OR rolled_back(errno)
            OR resets_session(command) AS ends,
        has_action(actions, 'implicit_commit') AS commits_before,
        has_action(actions, 'unlock_tables') AS unlocks,
        CASE
            WHEN has_action(actions, 'autocommit_off') THEN false
            WHEN has_action(actions, 'autocommit_on') OR resets_session(command) THEN true
            END AS auto,
        CASE
            WHEN has_action(actions, 'lock_tables') THEN true
            WHEN has_action(actions, 'unlock_tables') OR has_action(actions, 'begin') OR resets_session(command) THEN false
            END AS locks
    FROM tape_events
    WHERE (executes(command) OR resets_session(command))
        AND (rolled_back(errno) OR begins OR ends OR commits_before OR auto IS NOT NULL OR locks IS NOT NULL)
), known AS ( -- state of the session before and after each event: its last change, by a running maximum
    SELECT *,
        max(2 * seq + auto::INTEGER) OVER before % 2 = 1 AS auto_before,
        coalesce(max(2 * seq + locks::INTEGER) OVER before % 2 = 1, false) AS locked_before,
        coalesce(max(2 * seq + auto::INTEGER) OVER so_far % 2 = 1, true) AS auto_now,
        coalesce(max(2 * seq + locks::INTEGER) OVER so_far % 2 = 1, false) AS locked
    FROM marked
    WINDOW before AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        so_far AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), effective AS ( -- SET autocommit = 1 without a change, and UNLOCK TABLES without locks, end nothing
    SELECT * EXCLUDE (ends),
        ends OR (auto AND auto_before IS DISTINCT FROM true) OR (unlocks AND locked_before) AS ends,
        begins OR locked OR NOT auto_now AS opens
    FROM known
    WHERE ends OR begins OR commits_before OR NOT auto OR (auto AND auto_before IS DISTINCT FROM true)
        OR (unlocks AND locked_before)
), followed AS (
    SELECT *, coalesce(lag(opens) OVER (PARTITION BY session ORDER BY seq), false) AS open
    FROM effective
), bounds AS ( -- SET autocommit = 0 inside a transaction does not begin a new one
    SELECT *, open AND ((ends AND begins) OR (locked_before AND locked)) AS chained
    FROM followed
    WHERE ends OR begins OR commits_before OR NOT open
), ordered AS (
    SELECT *,
        CASE WHEN (ends AND open) OR NOT (begins OR locked) THEN seq + 1 ELSE seq END AS first_seq,
        lead(seq) OVER by_seq AS end_seq,
        lead(ends) OVER by_seq AS ended_by_itself,
        sum(CASE WHEN chained THEN 0 ELSE 1 END) OVER so_far AS link
    FROM bounds
    WINDOW by_seq AS (PARTITION BY session ORDER BY seq),
        so_far AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT session, first_seq,
    CASE WHEN end_seq IS NULL THEN 4611686018427387904 WHEN ended_by_itself THEN end_seq ELSE end_seq - 1 END AS last_seq,
    end_seq,
    CASE WHEN begins AND only_that THEN seq ELSE first_seq END AS begin_seq,
    min(first_seq) OVER (PARTITION BY session, link) AS chain,
    min(start_ns) OVER (PARTITION BY session, link) AS start_ns
FROM ordered
WHERE opens AND (end_seq IS NULL OR ended_by_itself OR end_seq > first_seq) -- leaves out transactions without events

-- SPDX-License-Identifier: Apache-2.0
-- Which transactions are on the tape? One row each: session, first_seq (its BEGIN), last_seq (its COMMIT or ROLLBACK, or the
-- event before what ends it unasked, as BEGIN and DDL do; 2^62 where the tape ends first), end_seq (the event that ends it),
-- begin_seq (from where it would have to be sent again), chain (first_seq of the first of those that hang together: the same
-- event ends one and begins the next, so all of them are sent or none), start_ns (of the chain).
-- Input: view tape_events with session, seq, start_ns, command, class, actions, errno; macros of event_macros.sql and names.sql.
-- By hand: `event_selection.define_macros(con)`, then CREATE VIEW tape_events AS FROM 'shop.tape/events/*.parquet'; this text
-- Under autocommit = 0 the next one begins behind each end. What runs under LOCK TABLES hangs together as well, up to UNLOCK
-- TABLES. A deadlock rolls its victim back.
WITH marked AS (
    SELECT session, seq, start_ns,
        class = 'transaction' AS only_that,
        has_action(actions, 'begin') AS begins,
        has_action(actions, 'commit') OR has_action(actions, 'rollback') OR rolled_back(errno) AS ends,
        has_action(actions, 'implicit_commit') AS commits_before,
        has_action(actions, 'unlock_tables') AS unlocks,
        CASE WHEN has_action(actions, 'autocommit_off') THEN false WHEN has_action(actions, 'autocommit_on') THEN true END AS auto,
        CASE
            WHEN has_action(actions, 'lock_tables') THEN true
            WHEN has_action(actions, 'unlock_tables') OR has_action(actions, 'begin') THEN false
            END AS locks
    FROM tape_events
    WHERE executes(command) AND (rolled_back(errno) OR begins OR ends OR commits_before OR auto IS NOT NULL OR locks IS NOT NULL)
), known AS ( -- the session's state before and behind each of them: the last that says it, as a running maximum
    SELECT *,
        max(2 * seq + auto::INTEGER) OVER before % 2 = 1 AS auto_before,
        coalesce(max(2 * seq + locks::INTEGER) OVER before % 2 = 1, false) AS locked_before,
        coalesce(max(2 * seq + auto::INTEGER) OVER so_far % 2 = 1, true) AS auto_now,
        coalesce(max(2 * seq + locks::INTEGER) OVER so_far % 2 = 1, false) AS locked
    FROM marked
    WINDOW before AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        so_far AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), effective AS ( -- SET autocommit = 1 where it was 1, and UNLOCK TABLES where none are locked, end nothing
    SELECT * EXCLUDE (ends),
        ends OR (auto AND auto_before IS DISTINCT FROM true) OR (unlocks AND locked_before) AS ends,
        begins OR locked OR NOT auto_now AS opens
    FROM known
    WHERE ends OR begins OR commits_before OR NOT auto OR (auto AND auto_before IS DISTINCT FROM true)
        OR (unlocks AND locked_before)
), followed AS (
    SELECT *, coalesce(lag(opens) OVER (PARTITION BY session ORDER BY seq), false) AS open
    FROM effective
), bounds AS ( -- SET autocommit = 0 inside a transaction begins none
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
WHERE opens AND (end_seq IS NULL OR ended_by_itself OR end_seq > first_seq) -- not what ends before it has an event

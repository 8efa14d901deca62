-- SPDX-License-Identifier: Apache-2.0
-- How long are the transactions, in statements and in time?
--
-- A transaction runs from its first to its last statement, in one session. With autocommit off, it begins with the
-- first statement that reads or writes. Statements under autocommit are not counted.
--
-- Input: the view tape_events and the macro has_action.
--
-- Run by hand:
--   .read schemas/names.sql
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/transactions.sql
WITH marked AS (
    SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns, class = 'write' AS writes,
        command IN ('query', 'execute', 'bulk_execute') AS runs,
        runs AND coalesce(errno, 0) = 0 AS executes,
        executes AND class IN ('read', 'write') AS works,
        CASE -- the new autocommit setting; a session begins with autocommit on
            WHEN executes AND has_action(actions, 'autocommit_off') THEN false
            WHEN executes AND has_action(actions, 'autocommit_on') THEN true
            WHEN command IN ('reset_connection', 'change_user') THEN true
        END AS turned,
        executes AND has_action(actions, 'begin') AS begins,
        executes AND has_action(actions, 'rollback') AS undoes,
        executes AND (undoes OR has_action(actions, 'commit') OR has_action(actions, 'implicit_commit')) AS plainly_ends
    FROM tape_events
), off AS (
    SELECT DISTINCT session::UINTEGER AS session FROM tape_events WHERE has_action(actions, 'autocommit_off')
), by_hand AS ( -- in sessions that disabled autocommit, any read or write begins a transaction
    -- Uses running maxima and sums because the time of last_value IGNORE NULLS and count FILTER grows with the square
    -- of the session length.
    SELECT * EXCLUDE (executes, turned, plainly_ends), coalesce(max(2 * seq::BIGINT + turned::INTEGER) OVER before % 2 = 0, false) AS hand,
        plainly_ends OR (hand AND executes AND coalesce(turned, false)) AS ends
    FROM marked
    WHERE session IN (FROM off)
    WINDOW before AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), every AS (
    FROM by_hand
    UNION ALL
    SELECT * EXCLUDE (executes, turned, plainly_ends), false, plainly_ends FROM marked WHERE session NOT IN (FROM off)
), counted AS ( -- COMMIT AND CHAIN belongs to the transaction that it ends
    SELECT *, (begins OR (hand AND works)) AND NOT ends AS opens,
        (sum((begins OR ends)::INTEGER) OVER so_far)::BIGINT - ends::INTEGER AS number,
        coalesce(lag(begins AND ends) OVER so_far, false) AS chained
    FROM every
    WINDOW so_far AS (PARTITION BY session ORDER BY seq ROWS UNBOUNDED PRECEDING)
), bounds AS ( -- the last event with a transaction number ends this transaction; events before first_seq are outside it
    SELECT session, number, min(seq) AS least_seq, min(seq) FILTER (opens OR chained) AS first_seq,
        max(seq) FILTER (ends) AS last_seq, count(*) FILTER (runs AND NOT begins AND NOT ends) AS statements,
        max(end_ns) - min(start_ns) AS span_ns, count(*) FILTER (writes) AS writes, bool_or(undoes) AS undone
    FROM counted
    GROUP BY ALL
    HAVING first_seq <= last_seq
), later AS (
    SELECT count(*) FILTER (c.runs AND NOT c.begins AND NOT c.ends) AS statements, max(c.end_ns) - min(c.start_ns) AS span_ns,
        count(*) FILTER (c.writes) AS writes, any_value(b.undone) AS undone
    FROM counted AS c
    JOIN bounds AS b ON c.session = b.session AND c.number = b.number AND c.seq >= b.first_seq
    WHERE b.least_seq < b.first_seq
    GROUP BY c.session, c.number
), whole AS (
    SELECT statements, span_ns, writes, undone FROM bounds WHERE least_seq = first_seq
    UNION ALL FROM later
)
SELECT count(*) AS transactions, count(*) FILTER (undone) AS rolled_back, count(*) FILTER (writes = 0) AS only_reading,
    quantile_disc(statements, [0.5, 0.95]) AS statements, max(statements) AS most_statements,
    quantile_disc(span_ns, [0.5, 0.95]) AS span_ns, max(span_ns) AS longest_ns
FROM whole

-- SPDX-License-Identifier: Apache-2.0
-- How long are the transactions? From the statement that begins one (with autocommit off: the first that reads or writes) to
-- the one that ends it, in its session: statements between them, and time. Statements under autocommit are not counted.
-- Input: tape_events, macro has_action.
-- By hand:
--   .read schemas/actions.sql
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/transactions.sql
WITH marked AS (
    SELECT session, seq, start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns, class,
        command IN ('query', 'execute', 'bulk_execute') AS runs,
        runs AND coalesce(errno, 0) = 0 AS executes,
        CASE -- of autocommit, from here on; a session begins with it on
            WHEN executes AND has_action(actions, 'autocommit_off') THEN false
            WHEN executes AND has_action(actions, 'autocommit_on') THEN true
            WHEN command IN ('reset_connection', 'change_user') THEN true
        END AS turned,
        executes AND has_action(actions, 'begin') AS begins,
        executes AND has_action(actions, 'rollback') AS undoes,
        executes AND (undoes OR has_action(actions, 'commit') OR has_action(actions, 'implicit_commit')) AS plainly_ends
    FROM tape_events
), manual AS (
    -- Running maxima and sums: last_value IGNORE NULLS and count FILTER take a time that grows with the square of a session.
    SELECT *, coalesce(max(2 * seq + turned::INTEGER) OVER before % 2 = 0, false) AS by_hand,
        plainly_ends OR (by_hand AND executes AND coalesce(turned, false)) AS ends
    FROM marked
    WINDOW before AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), counted AS ( -- COMMIT AND CHAIN is of the transaction that it ends
    SELECT *, (begins AND NOT ends) OR (by_hand AND executes AND class IN ('read', 'write') AND NOT ends) AS opens,
        sum((begins AND NOT ends)::INTEGER) OVER (PARTITION BY session ORDER BY seq ROWS UNBOUNDED PRECEDING)
            + coalesce(sum(ends::INTEGER) OVER before, 0) AS number,
        coalesce(lag(begins AND ends) OVER (PARTITION BY session ORDER BY seq), false) AS chained
    FROM manual
    WINDOW before AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), bounds AS (
    SELECT session, number, min(seq) FILTER (opens OR chained) AS first_seq, min(seq) FILTER (ends) AS last_seq,
        bool_or(undoes) AS undone
    FROM counted
    GROUP BY ALL
    HAVING first_seq <= last_seq
), whole AS (
    SELECT c.session, c.number, count(*) FILTER (c.runs AND NOT c.begins AND NOT c.ends) AS statements,
        max(c.end_ns) - min(c.start_ns) AS span_ns, count(*) FILTER (c.class = 'write') AS writes,
        any_value(b.undone) AS undone
    FROM counted AS c
    JOIN bounds AS b ON c.session = b.session AND c.number = b.number AND c.seq BETWEEN b.first_seq AND b.last_seq
    GROUP BY ALL
)
SELECT count(*) AS transactions, count(*) FILTER (undone) AS rolled_back, count(*) FILTER (writes = 0) AS only_reading,
    quantile_disc(statements, [0.5, 0.95]) AS statements, max(statements) AS most_statements,
    quantile_disc(span_ns, [0.5, 0.95]) AS span_ns, max(span_ns) AS longest_ns
FROM whole

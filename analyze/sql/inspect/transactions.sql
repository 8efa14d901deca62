-- SPDX-License-Identifier: Apache-2.0
-- How long are the transactions? From the statement that begins one to the one that ends it, in its session: statements
-- between them, and time. Statements under autocommit are not counted. Input: tape_events, macro has_action.
-- By hand:
--   .read schemas/actions.sql
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   .read analyze/sql/inspect/transactions.sql
WITH marked AS (
    SELECT session, seq, start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns, class,
        command IN ('query', 'execute', 'bulk_execute') AS executes,
        executes AND has_action(actions, 'begin') AS begins,
        executes AND has_action(actions, 'rollback') AS undoes,
        executes AND (undoes OR has_action(actions, 'commit') OR has_action(actions, 'implicit_commit')) AS ends
    FROM tape_events
), counted AS ( -- COMMIT AND CHAIN is of the transaction that it ends
    SELECT *, count(*) FILTER (begins) OVER (PARTITION BY session ORDER BY seq)
            - CASE WHEN begins AND ends THEN 1 ELSE 0 END AS number
    FROM marked
), ended AS (
    SELECT session, number, min(seq) FILTER (ends) AS last_seq, arg_min(undoes, seq) FILTER (ends) AS undone
    FROM counted
    WHERE number > 0
    GROUP BY ALL
), whole AS (
    SELECT c.session, c.number, count(*) FILTER (NOT begins AND NOT ends) AS statements,
        max(c.end_ns) - min(c.start_ns) AS span_ns, count(*) FILTER (c.class = 'write') AS writes,
        any_value(e.undone) AS undone
    FROM counted AS c
    JOIN ended AS e ON c.session = e.session AND c.number = e.number AND c.seq <= e.last_seq
    GROUP BY ALL
)
SELECT count(*) AS transactions, count(*) FILTER (undone) AS rolled_back, count(*) FILTER (writes = 0) AS only_reading,
    quantile_disc(statements, [0.5, 0.95]) AS statements, max(statements) AS most_statements,
    quantile_disc(span_ns, [0.5, 0.95]) AS span_ns, max(span_ns) AS longest_ns
FROM whole

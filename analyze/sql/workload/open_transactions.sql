-- SPDX-License-Identifier: Apache-2.0
-- Which transactions have no end, for each signature? Either the session ended and the server rolled the transaction
-- back (left open), or the tape ended before the transaction did.
--
-- Input: the table tx_facts.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE tx_facts AS SELECT *, 'left open' AS ended, 3 AS session
--       FROM (VALUES (5, 1, 1, 0, 9)) AS v(signature, statements, writes, start_ns, end_ns);
--   .read analyze/sql/workload/open_transactions.sql
SELECT ended, printf('%016x', signature) AS signature, count(*) AS transactions, count(*) FILTER (writes > 0) AS with_writes,
    sum(statements)::BIGINT AS statements, max(end_ns - start_ns) AS longest_ns, min(session) AS example_session
FROM tx_facts
WHERE ended IN ('left open', 'tape ended')
GROUP BY ended, signature
ORDER BY ended, with_writes DESC, transactions DESC, signature

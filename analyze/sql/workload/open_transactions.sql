-- SPDX-License-Identifier: Apache-2.0
-- Which transactions had no end: the session quit (left open: the server rolls them back), or the tape ended before them? By
-- signature. Input: tx_facts.
-- By hand, with what `querytape inspect` makes before it:
--   CREATE TABLE tx_facts AS FROM (VALUES (5, 1, 1, 0, 9, 'left open', 3)) AS v(signature, statements, writes, start_ns, end_ns, ended, session);
--   .read analyze/sql/workload/open_transactions.sql
SELECT ended, printf('%016x', signature) AS signature, count(*) AS transactions, count(*) FILTER (writes > 0) AS with_writes,
    sum(statements)::BIGINT AS statements, max(end_ns - start_ns) AS longest_ns, min(session) AS example_session
FROM tx_facts
WHERE ended IN ('left open', 'tape ended')
GROUP BY ended, signature
ORDER BY ended, with_writes DESC, transactions DESC, signature

-- SPDX-License-Identifier: Apache-2.0
-- Make the tables of the statements that lock rows by values:
-- - lock_times: when such statements, and the ends of transactions, ran
-- - near_locks (id): the statements that may show that a write had ended before its answer. These are the writes outside
--   of transactions during which a statement of a transaction ended, and these statements.
--
-- Input: the view order_events, and the table locking_digests (locked_rows.py).
--
-- Run by hand: `locked_rows.find_earlier_ends(con, plan)` runs this file.
CREATE OR REPLACE TEMP TABLE lock_times AS
SELECT o.session * 2147483648 + o.seq AS id, o.session, o.seq, lo_ns, hi_ns, tx_first, tx_end, d.digest IS NOT NULL AS locks
FROM order_events AS o LEFT JOIN locking_digests AS d ON o.digest = d.digest_no
WHERE d.digest IS NOT NULL OR o.seq = o.tx_end;

CREATE OR REPLACE TEMP TABLE near_locks AS
WITH alone AS (
    SELECT id, lo_ns, hi_ns FROM lock_times WHERE locks AND tx_first < 0
), reached AS (
    SELECT lo_ns, max(hi_ns) OVER (ORDER BY lo_ns ROWS UNBOUNDED PRECEDING) AS until_ns FROM alone
), inside AS (
    SELECT t.id, t.hi_ns FROM (FROM lock_times WHERE locks AND tx_first >= 0) AS t ASOF JOIN reached AS r ON t.hi_ns > r.lo_ns
    WHERE t.hi_ns < r.until_ns
)
SELECT id FROM inside
UNION ALL
SELECT a.id FROM alone AS a ASOF JOIN inside AS i ON a.hi_ns > i.hi_ns WHERE i.hi_ns > a.lo_ns;

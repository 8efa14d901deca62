-- SPDX-License-Identifier: Apache-2.0
-- Which writes outside of transactions had certainly ended before their answer? The result has the last moment at which
-- such a write may have ended.
--
--   write        --[UPDATE...............]         the transaction kept the row until after the answer,
--   transaction       --[UPDATE]------------[COMMIT]   so the write had the row before the transaction
--                              ^ locked_ns  ^ freed_ns
--
-- Two transactions cannot lock a row at the same time. The last one that locked it before the answer therefore decides.
--
-- Schemas may have tables of the same name. A table in an unknown schema is no table here.
--
-- Input: the tables written_rows, near_schemas (locked_rows.py) and lock_times (lock_times.sql).
--
-- Run by hand: `locked_rows.find_earlier_ends(con, plan)` runs this file.
WITH timed AS (
    SELECT t.session, t.seq, t.lo_ns, t.hi_ns, t.tx_first, t.tx_end, r.name, r.value,
        CASE WHEN contains(r.tbl, '.') THEN r.tbl ELSE lower(s.db) || '.' || r.tbl END AS tbl
    FROM lock_times AS t JOIN written_rows AS r ON t.id = r.id JOIN near_schemas AS s ON t.id = s.id
), first_locks AS (
    SELECT session, tx_first, any_value(tx_end) AS tx_end, tbl, name, value, min(hi_ns) AS locked_ns
    FROM timed WHERE tx_first >= 0
    GROUP BY session, tx_first, tbl, name, value
), held AS (
    SELECT f.tbl, f.name, f.value, f.locked_ns, e.lo_ns AS freed_ns
    FROM first_locks AS f JOIN lock_times AS e ON f.session = e.session AND f.tx_end = e.seq
)
SELECT w.session, w.seq, h.locked_ns - 1 AS ended_ns
FROM (FROM timed WHERE tx_first < 0) AS w
ASOF JOIN held AS h ON w.tbl = h.tbl AND w.name = h.name AND w.value = h.value AND w.hi_ns > h.locked_ns
WHERE h.locked_ns > w.lo_ns AND h.freed_ns > w.hi_ns

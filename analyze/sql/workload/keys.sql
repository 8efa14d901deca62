-- SPDX-License-Identifier: Apache-2.0
-- Which statement wrote or locked which rows, and until when were the rows held? Rows are identified by the values in
-- the WHERE clause. A row is held until the end of the transaction.
--
-- Input: the tables row_keys (from the grammar; id = session * 2^31 + seq), workload_events and workload_tx. Makes: the
-- table workload_keys.
--
-- Run by hand, on small examples of the tables that `querytape inspect` makes:
--   CREATE TABLE row_keys AS SELECT 2147483649 AS id, 't' AS tbl, 'id' AS name, '5' AS value;
--   CREATE TABLE workload_tx AS SELECT 1 AS tx, 9 AS end_ns;
--   CREATE TABLE workload_events AS SELECT *, 1 AS start_ns, 2 AS end_ns, 1 AS duration_ns, 0 AS lock_ns
--       FROM (SELECT 1 AS tx, 1 AS session, 1 AS seq, 1 AS digest, 'write' AS class);
--   .read analyze/sql/workload/keys.sql
CREATE OR REPLACE TABLE workload_keys AS
SELECT k.tbl, k.name, k.value, e.session, e.seq, e.tx, e.digest, e.class, e.start_ns, e.duration_ns, e.lock_ns,
    greatest(coalesce(t.end_ns, e.end_ns), e.end_ns) AS held_ns
FROM row_keys AS k
JOIN workload_events AS e ON k.id = e.session * 2147483648 + e.seq
LEFT JOIN workload_tx AS t ON e.tx = t.tx
WHERE k.value IS NOT NULL

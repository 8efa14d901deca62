-- SPDX-License-Identifier: Apache-2.0
-- How many events could be compared by each kind of result? One row. Input: met (pair.sql).
SELECT count(*) FILTER (rows_known) AS rows, count(*) FILTER (sums_known) AS checksums FROM met

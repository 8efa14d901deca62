-- SPDX-License-Identifier: Apache-2.0
-- Which digests are on the tape? Each digest gets a number that is quick to join.
--
-- Input: the view tape_digests. Makes: the table workload_digests.
--
-- Run by hand:
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/workload/digests.sql
CREATE OR REPLACE TABLE workload_digests AS
SELECT row_number() OVER (ORDER BY digest) AS id, digest, class, actions, normalized, events, duration_ns
FROM tape_digests

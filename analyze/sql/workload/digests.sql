-- SPDX-License-Identifier: Apache-2.0
-- Which digests are on the tape, by a number that is quick to join? Input: tape_digests. Makes: workload_digests.
-- By hand:
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/workload/digests.sql
CREATE OR REPLACE TABLE workload_digests AS
SELECT row_number() OVER (ORDER BY digest) AS id, digest, class, actions, normalized, events, duration_ns
FROM tape_digests

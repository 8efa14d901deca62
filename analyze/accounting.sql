-- SPDX-License-Identifier: Apache-2.0
-- What became of each event of the tape? Every event is in exactly one row of each run.
-- Input: outcome (prelude.sql).
SELECT run, status, reason, count(*) AS events, sum(service_ns)::BIGINT AS service_ns
FROM outcome
GROUP BY ALL
ORDER BY run, status, events DESC, reason

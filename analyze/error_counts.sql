-- SPDX-License-Identifier: Apache-2.0
-- Which errors came at all, per run? Input: outcome.
SELECT run, errno, digest, count(*) AS events, arg_min(error, (session, seq)) AS error
FROM outcome
WHERE status = 'executed' AND errno <> 0
GROUP BY ALL
ORDER BY run, events DESC, errno, digest

-- SPDX-License-Identifier: Apache-2.0
-- pair: one row for each event that was answered without an error on both sides, in each round; what all paired questions read.
--   block   which of 40 equal parts of the tape's time it lies in: neighbours share what the machine did meanwhile
-- Input: outcome (prelude.sql). Without b it is empty.
CREATE TABLE pair AS
SELECT a.digest, a.round, a.service_ns AS a_ns, b.service_ns AS b_ns,
    least(39, 40 * (a.start_ns - s.first_ns) // greatest(s.span_ns, 1))::INTEGER AS block
FROM outcome AS a
JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND a.round = b.round
CROSS JOIN (SELECT min(start_ns) AS first_ns, max(start_ns) - min(start_ns) AS span_ns FROM outcome WHERE run = 'a') AS s
WHERE a.run = 'a' AND a.ok AND b.ok AND a.digest IS NOT NULL;

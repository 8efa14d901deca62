-- SPDX-License-Identifier: Apache-2.0
-- Which tape gets each session that has none yet? They go in turns, there and back, the heaviest first.
-- Inputs: tables loads, dealt (session, share), turns (turn from 0, share). Variable: tapes.
WITH placed AS (
    SELECT session, row_number() OVER (ORDER BY load DESC, session) - 1 AS place
    FROM loads
    ANTI JOIN dealt USING (session)
), turned AS (
    SELECT session, CASE
        WHEN place // getvariable('tapes') % 2 = 0 THEN place % getvariable('tapes')
        ELSE getvariable('tapes') - 1 - place % getvariable('tapes')
        END AS turn
    FROM placed
)
SELECT session, share
FROM turned
JOIN turns USING (turn)

-- SPDX-License-Identifier: Apache-2.0
-- Which tape gets each session that has no tape yet? The sessions are distributed from the heaviest to the lightest,
-- first up and then down the list of tapes. A group of sessions that stay together counts as its first session.
--
-- Input: the tables units (session, load), dealt (session, share) and turns (turn from 0, share), and the variable tapes.
WITH placed AS (
    SELECT session, row_number() OVER (ORDER BY load DESC, session) - 1 AS place
    FROM units
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

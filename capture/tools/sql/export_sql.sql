-- SPDX-License-Identifier: Apache-2.0
-- The statements alone, in the order of their starts, each ended by a semicolon and a newline. Input: view events.
SELECT statement || encode(';' || chr(10)) AS entry
FROM events
WHERE command = 'query' AND statement IS NOT NULL
ORDER BY start_ns, session, seq

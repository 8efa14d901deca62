-- SPDX-License-Identifier: Apache-2.0
-- Lists only the statements, in the order of their starts. Each statement ends with a semicolon and a newline.
--
-- Input: the view events.
SELECT statement || encode(';' || chr(10)) AS entry
FROM events
WHERE command = 'query' AND statement IS NOT NULL
ORDER BY start_ns, session, seq

-- SPDX-License-Identifier: Apache-2.0
-- Who sent it, and to which schemas? Input: tape_events.
SELECT "user", db, count(*) AS events, count(DISTINCT session) AS sessions
FROM tape_events
GROUP BY ALL
ORDER BY events DESC, "user", db

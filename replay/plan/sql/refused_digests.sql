-- SPDX-License-Identifier: Apache-2.0
-- Which digests are reads by their class, and yet refused where only reads are sent? digest, reason. A server in read-only
-- mode opens the table of an explained write as if it wrote (1792).
-- Inputs: view tape_digests; macros of schemas/names.sql; variable allow_writes.
-- By hand: `database.open_planner(plan)` makes this the table refused_digests.
SELECT digest, 'write' AS reason
FROM tape_digests
WHERE NOT getvariable('allow_writes') AND class = 'read'
    AND has_property(properties, 'explains_write')

-- SPDX-License-Identifier: Apache-2.0
-- Which digests have the class read, but are refused if only reads are sent? Columns: digest, reason.
--
-- EXPLAIN of a write is such a read. A read-only server opens the table of the explained write as for a write, and
-- fails with error 1792.
--
-- Input: the view tape_digests, the macros of schemas/names.sql and the variable allow_writes.
--
-- Run by hand: `database.open_planner(plan)` makes the table refused_digests from this file.
SELECT digest, 'write' AS reason
FROM tape_digests
WHERE NOT getvariable('allow_writes') AND class = 'read'
    AND has_property(properties, 'explains_write')

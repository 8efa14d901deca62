-- SPDX-License-Identifier: Apache-2.0
-- What is asked about a single event.
-- By hand: `event_selection.define_macros(con)` in Python.

-- Does the command execute its statement? PREPARE does not.
CREATE OR REPLACE TEMP MACRO executes(command) AS command IN ('query', 'execute', 'bulk_execute');

-- Errors that come of the moment, not of the statement. Rolled back with all of its transaction: deadlock (1213), a row that
-- changed since it was read (MariaDB's 1020), the same in XA (1613, 1614, 1402), refused by a group at its COMMIT (3101).
CREATE OR REPLACE TEMP MACRO rolled_back(errno) AS coalesce(errno IN (1213, 1020, 1613, 1614, 1402, 3101), false);

-- Failed alone: a lock wait that timed out (1205), killed (1317, and the connection with it 1927, 3169), too slow (1969, 3024),
-- NOWAIT (3572).
CREATE OR REPLACE TEMP MACRO interrupted(errno) AS coalesce(errno IN (1205, 1317, 1927, 1969, 3024, 3169, 3572), false);

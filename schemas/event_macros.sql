-- SPDX-License-Identifier: Apache-2.0
-- Conditions on a single event.
--
-- Run by hand: `event_selection.define_macros(con)` in Python.

-- True if the command executes its statement. False for PREPARE.
CREATE OR REPLACE TEMP MACRO executes(command) AS command IN ('query', 'execute', 'bulk_execute');

-- True if the command ends the transaction, the table locks and the settings of its session.
CREATE OR REPLACE TEMP MACRO resets_session(command) AS command IN ('quit', 'reset_connection', 'change_user');

-- True for a temporary error that rolls back the whole transaction:
-- - 1213: deadlock
-- - 1020 (MariaDB): a row changed after the transaction read it
-- - 1613, 1614, 1402: an XA transaction was rolled back (timeout, deadlock, other causes)
-- - 3101: the replication group refused the COMMIT
CREATE OR REPLACE TEMP MACRO rolled_back(errno) AS coalesce(errno IN (1213, 1020, 1613, 1614, 1402, 3101), false);

-- True for a temporary error that ends only the statement:
-- - 1205: lock wait timeout
-- - 1317: the statement was killed
-- - 1927, 3169: the statement was killed together with its connection
-- - 1969, 3024: too slow
-- - 3572: NOWAIT
-- - 1412: the snapshot was older than the definition of the table
CREATE OR REPLACE TEMP MACRO interrupted(errno) AS coalesce(errno IN (1205, 1317, 1927, 1969, 3024, 3169, 3572, 1412), false);

-- SPDX-License-Identifier: Apache-2.0
-- What is asked about a single event. Input: variable flag_bits (name -> bit: codes.py, FLAGS).
-- By hand: `event_selection.define_macros(con)` in Python.

CREATE OR REPLACE TEMP MACRO has_flag(flags, name) AS (flags & getvariable('flag_bits')[name]) <> 0;

-- Does the command execute its statement? PREPARE does not.
CREATE OR REPLACE TEMP MACRO executes(command) AS command IN ('query', 'execute', 'bulk_execute');

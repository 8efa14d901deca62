-- SPDX-License-Identifier: Apache-2.0
-- Which digests, classes, users and schemas does the tape have? This file makes the types of these names.
--
-- Input: the view tape_event.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
CREATE TYPE digest_name AS ENUM (SELECT DISTINCT digest FROM tape_event WHERE digest IS NOT NULL ORDER BY 1);
CREATE TYPE short_name AS ENUM (
    SELECT DISTINCT name FROM (
        SELECT unnest([class, "user", db]) AS name FROM (SELECT DISTINCT class, "user", db FROM tape_event)
        UNION ALL SELECT unnest(['a', 'b', '-', 'executed', 'filtered', 'skipped', 'not_sent']))
    WHERE name IS NOT NULL ORDER BY 1);

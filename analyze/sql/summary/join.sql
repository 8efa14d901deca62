-- SPDX-License-Identifier: Apache-2.0
-- What do the runs and the tape contain for each event?
--
-- Input: the views tape_event, every_outcome (prelude.sql), the types of names.sql, and these variables: b, skip_ns,
-- shares (NULL: one share) and joined_later (true: another file has the rows of joined).
--
-- Tables and views that this file makes:
-- - joined: one row for each event, clone and round, with the outcomes of both sides (a_..., b_...) and the tape's data
--   of the event. The status is NULL if a side has no outcome. The join is done only once.
-- - joined.kind: how the results differ (results.sql), if both sides had no error. NULL if they are equal, and for
--   commands without a statement (pings, closes), which have no result. With a single run, the sides are the tape
--   and a.
-- - joined.matched: whether the event was answered without an error on both sides.
-- - joined.rows_known, joined.sums_known: whether both sides have the number of sent rows, and comparable checksums.
-- - joined.more_sent: the difference in the number of sent rows.
-- - outcome: one row for each outcome, with the tape's data of its event.
-- - outcome.service_ns: the time from sending to the last byte of the answer.
-- - outcome.log: the log_of the service time.
-- - outcome.response_ns: the time from the due time to the last byte. NULL with --pace none.
-- - outcome.ok: whether the event was answered without an error, after the first skip_ns (a warm-up that is not
--   measured).
-- - outcome.paired: whether the event is ok in both of two runs and has a digest.
-- - outcome.tape_errno: the error number on the tape. 0 = known to have succeeded, NULL = unknown.
-- - failure: the messages of the outcomes with an error.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, class::short_name AS class, digest::digest_name AS digest, "user"::short_name AS "user", db::short_name AS db,
    start_ns, errno AS tape_errno, rows_sent, rows_affected, warnings, checksum
FROM tape_event;

CREATE OR REPLACE TEMP MACRO side(letter, share, shares) AS TABLE
SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, clone, round, status::short_name AS status, sent_ns, done_ns, done_ns - due_ns AS response_ns,
    status = 'executed' AND done_ns IS NOT NULL AND errno = 0 AND sent_ns >= getvariable('skip_ns') AS ok,
    rows_sent, rows_affected, warnings, checksum, errno
FROM every_outcome
WHERE run = letter AND (shares = 1 OR hash(session) % shares = share);

-- The rows of the sessions of one share. summary.py divides the sessions into shares if all rows do not fit into memory.
CREATE OR REPLACE TEMP MACRO joined_of(share, shares) AS TABLE
WITH known AS (
    SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, class, digest, "user", db, start_ns, tape_errno,
        CASE WHEN getvariable('b') IS NULL THEN rows_sent END AS rows_sent, CASE WHEN getvariable('b') IS NULL THEN rows_affected END AS rows_affected,
        CASE WHEN getvariable('b') IS NULL THEN warnings END AS warnings, CASE WHEN getvariable('b') IS NULL THEN checksum END AS checksum
    FROM event
    WHERE shares = 1 OR hash(session) % shares = share
), met AS (
    SELECT session, seq, clone, round, e.class, e.digest, e."user", e.db, e.start_ns, e.tape_errno,
        a.status AS a_status, a.sent_ns AS a_sent_ns, a.done_ns AS a_done_ns, a.response_ns AS a_response_ns, a.ok AS a_ok,
        a.rows_sent AS a_rows_sent, a.rows_affected AS a_rows_affected, a.errno AS a_errno,
        b.status AS b_status, b.sent_ns AS b_sent_ns, b.done_ns AS b_done_ns, b.response_ns AS b_response_ns, b.ok AS b_ok,
        b.rows_sent AS b_rows_sent, b.rows_affected AS b_rows_affected, b.errno AS b_errno,
        -- pairs to compare: a with b, or the tape with a
        coalesce(a.ok AND CASE WHEN getvariable('b') IS NULL THEN e.session IS NOT NULL ELSE b.ok END, false) AS matched,
        e.class IS NOT NULL AND (getvariable('b') IS NOT NULL OR coalesce(e.tape_errno, 0) = 0) AS sound,
        CASE WHEN getvariable('b') IS NULL THEN e.rows_sent ELSE a.rows_sent END AS old_sent,
        CASE WHEN getvariable('b') IS NULL THEN a.rows_sent ELSE b.rows_sent END AS new_sent,
        CASE WHEN getvariable('b') IS NULL THEN e.rows_affected ELSE a.rows_affected END AS old_affected,
        CASE WHEN getvariable('b') IS NULL THEN a.rows_affected ELSE b.rows_affected END AS new_affected,
        CASE WHEN getvariable('b') IS NULL THEN e.warnings ELSE a.warnings END AS old_warnings,
        CASE WHEN getvariable('b') IS NULL THEN a.warnings ELSE b.warnings END AS new_warnings,
        CASE WHEN getvariable('b') IS NULL THEN e.checksum ELSE a.checksum END AS old_sum,
        CASE WHEN getvariable('b') IS NULL THEN a.checksum ELSE b.checksum END AS new_sum
    FROM side('a', share, shares) AS a
    FULL JOIN side('b', share, shares) AS b USING (session, seq, clone, round)
    LEFT JOIN known AS e USING (session, seq)
)
SELECT * EXCLUDE (sound, old_sent, new_sent, old_affected, new_affected, old_warnings, new_warnings, old_sum, new_sum),
    old_sent IS NOT NULL AND new_sent IS NOT NULL AS rows_known,
    CASE WHEN old_sum = new_sum THEN true ELSE coalesce(protocol_of(old_sum) = protocol_of(new_sum), false) END AS sums_known,
    CASE
        WHEN NOT (matched AND sound) THEN NULL
        WHEN old_sent <> new_sent THEN 'rows'
        WHEN old_affected <> new_affected THEN 'affected'
        WHEN old_sum <> new_sum AND sums_known THEN if(set_of(old_sum) <> set_of(new_sum), 'data', 'order')
        WHEN old_warnings <> new_warnings THEN 'warnings'
    END::result_kind AS kind,
    CASE WHEN kind IS NOT NULL THEN new_sent - old_sent END AS more_sent
FROM met;

CREATE TABLE joined AS FROM joined_of(0, coalesce(getvariable('shares'), 1)) WHERE NOT coalesce(getvariable('joined_later'), false);

CREATE OR REPLACE TEMP VIEW outcome AS
SELECT 'a'::short_name AS run, round, session, seq, clone, a_sent_ns AS sent_ns, a_done_ns AS done_ns, a_status AS status,
    a_rows_sent AS rows_sent, a_rows_affected AS rows_affected, a_errno AS errno, a_done_ns - a_sent_ns AS service_ns,
    a_response_ns AS response_ns, log_of(a_done_ns - a_sent_ns) AS log, a_ok AS ok, matched AND digest IS NOT NULL AND getvariable('b') IS NOT NULL AS paired,
    class, digest, "user", db, start_ns, tape_errno
FROM joined
WHERE a_status IS NOT NULL
UNION ALL
SELECT 'b'::short_name, round, session, seq, clone, b_sent_ns, b_done_ns, b_status, b_rows_sent, b_rows_affected, b_errno, b_done_ns - b_sent_ns,
    b_response_ns, log_of(b_done_ns - b_sent_ns), b_ok, matched AND digest IS NOT NULL, class, digest, "user", db, start_ns, tape_errno
FROM joined
WHERE b_status IS NOT NULL;

CREATE TABLE failure AS
SELECT run::short_name AS run, round, session, seq, clone, error FROM every_outcome WHERE errno <> 0 AND error IS NOT NULL;

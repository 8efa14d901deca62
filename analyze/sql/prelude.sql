-- SPDX-License-Identifier: Apache-2.0
-- What do the runs and the tape say of each event? The tables and views that every analysis of a report reads. By hand, in the duckdb
-- shell, from the checkout; b may be NULL, and both may have several runs, the rounds of a comparison:
--   CREATE VIEW tape_event AS FROM 'shop.tape/events/*.parquet'; CREATE VIEW tape_digest AS FROM 'shop.tape/digests.parquet';
--   CREATE VIEW old AS SELECT 'a' AS run, 1 AS round, * FROM 'old.run/outcomes/*.parquet';
--   CREATE VIEW new AS SELECT 'b' AS run, 1 AS round, * FROM 'new.run/outcomes/*.parquet';
--   CREATE VIEW every_outcome AS FROM old UNION ALL FROM new;
--   SET VARIABLE b = 'new.run'; SET VARIABLE skip_ns = 0; SET VARIABLE bin_ns = 1000000000;
--   .read schemas/actions.sql
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/totals.sql
--
-- tape_event, tape_digest: the tape's tables as they are; one run alone is compared with them.
-- every_outcome: the runs' outcomes as they are, with run ('a' or 'b') and round, which counts from 1.
-- outcome: one row for each of them, with what the tape says of its event.
--   service_ns = sent to last byte; response_ns = due to last byte (NULL at --pace none); ok = answered without an error, after
--   the first skip_ns (a warm-up that is not measured); tape_errno = its error on the tape: 0 = known to have succeeded, NULL = unknown
-- Names that repeat are kept as numbers: a report of 20 million outcomes fits into little memory.
DROP TABLE IF EXISTS outcome;
DROP TABLE IF EXISTS matched_events;
DROP TYPE IF EXISTS digest_name;
DROP TYPE IF EXISTS short_name;
CREATE TYPE digest_name AS ENUM (SELECT DISTINCT digest FROM tape_event WHERE digest IS NOT NULL ORDER BY 1);
CREATE TYPE short_name AS ENUM (
    SELECT DISTINCT name FROM (
        SELECT unnest([class, "user", db]) AS name FROM (SELECT DISTINCT class, "user", db FROM tape_event)
        UNION ALL SELECT unnest(['a', 'b', 'executed', 'filtered', 'skipped', 'not_sent']))
    WHERE name IS NOT NULL ORDER BY 1);

CREATE OR REPLACE TEMP VIEW event AS
SELECT session, seq, class::short_name AS class, digest::digest_name AS digest, "user"::short_name AS "user", db::short_name AS db,
    start_ns, errno AS tape_errno
FROM tape_event;

-- Why a statement may come to another result each time, or NULL. GROUP BY sorted where A is: then LIMIT without ORDER BY did not come out
-- as it liked (variable sort_lost: A's GROUP BY sorts, B's does not).
CREATE OR REPLACE TEMP MACRO known_reason(text, actions) AS CASE
    WHEN has_action(actions, 'asks_time') THEN 'asks the time'
    WHEN has_action(actions, 'random') THEN 'random'
    WHEN has_action(actions, 'session_dependent') OR has_action(actions, 'asks_server') THEN 'asks about its session or server'
    WHEN regexp_matches(text, '\blimit\b') AND NOT regexp_matches(text, '\border by\b')
        AND NOT (coalesce(getvariable('sort_lost'), false) AND regexp_matches(text, '\bgroup by\b')) THEN 'LIMIT without ORDER BY'
    WHEN contains(text, 'information_schema') THEN 'asks about the server'
END;

CREATE OR REPLACE TEMP TABLE digest_texts AS
SELECT TRY_CAST(digest AS digest_name) AS digest, normalized, tables, known_reason(normalized, actions) AS known
FROM tape_digest
WHERE TRY_CAST(digest AS digest_name) IS NOT NULL;

CREATE TABLE outcome AS
SELECT
    o.run::short_name AS run, o.round, o.session, o.seq, o.clone, o.sent_ns, o.done_ns, o.status::short_name AS status,
    o.rows_sent, o.rows_affected, o.warnings, o.checksum, o.errno, o.error,
    o.done_ns - o.sent_ns AS service_ns,
    o.done_ns - o.due_ns AS response_ns,
    o.status = 'executed' AND o.done_ns IS NOT NULL AND o.errno = 0 AND o.sent_ns >= getvariable('skip_ns') AS ok,
    e.class, e.digest, e."user", e.db, e.start_ns, e.tape_errno
FROM every_outcome AS o
LEFT JOIN event AS e USING (session, seq);

-- A mean that does not depend on the order of summation, so that the same report twice is the same: nine digits after the point.
CREATE OR REPLACE TEMP MACRO mean_of(x) AS sum((x * 1000000000)::BIGINT)::DOUBLE / 1000000000 / count(x);

-- How a checksum says which protocol its rows came in, and their sum whatever their order: NAME:IN ORDER:AS A SET.
CREATE OR REPLACE TEMP MACRO protocol_of(checksum) AS regexp_extract(checksum, '^[^:]*');
CREATE OR REPLACE TEMP MACRO set_of(checksum) AS regexp_extract(checksum, '[^:]*$');

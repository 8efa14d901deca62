-- SPDX-License-Identifier: Apache-2.0
-- Which texts do the rules of `querytape lint` check? This file makes the tables of these texts.
--
-- - lint_digests: each digest that did not always fail, with its counts and its sample in lower case. Strings, quoted
--   names and comments in the sample are replaced by `?`. Executable comments (/*! ... */) and hints stay. A statement
--   that always failed is left out, because its failure is not new.
-- - outcome_unknown (column): the number of events that may have failed, because the tape has no error number for them.
-- - lint_prepared: the digests that were prepared.
--
-- Input: the views tape_events and tape_digests.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_digests AS FROM 'shop.tape/digests.parquet';
--   .read analyze/sql/lint/texts.sql
--
-- The macro as_text shows bytes that are not UTF-8 as \xNN. Quotes and backslashes stay as they are.
CREATE OR REPLACE TEMP MACRO as_text(bytes) AS coalesce(try(decode(bytes)),
    replace(replace(replace(bytes::VARCHAR, '\x27', ''''), '\x22', '"'), '\x5C', '\'));

CREATE OR REPLACE TEMP MACRO without_strings(text) AS regexp_replace(text,
    '''(?:[^''\\]|\\.|'''')*(?:''|$)|"(?:[^"\\]|\\.|"")*(?:"|$)|`[^`]*(?:`|$)'
    || '|/\*(?:[^!+*Mm]|\*+[^*/])(?:[^*]|\*+[^*/])*(?:\*+/|\**$)|/\*\*+/|--[ \t][^\n]*|#[^\n]*', '?', 'gs');

CREATE OR REPLACE TEMP TABLE lint_digests AS
SELECT d.digest, d.normalized, e.events, e.outcome_unknown, e.duration_ns, d.sample IS NULL AS no_sample,
    d.sample_bytes > octet_length(d.sample) AS cut, without_strings(lower(as_text(d.sample))) AS text
FROM tape_digests AS d
JOIN (
    SELECT digest, count(*) AS events, count(*) - count(errno) AS outcome_unknown, sum(duration_ns)::BIGINT AS duration_ns
    FROM tape_events
    WHERE digest IS NOT NULL AND coalesce(errno, 0) = 0
    GROUP BY digest
) AS e USING (digest);

CREATE OR REPLACE TEMP TABLE lint_prepared AS
SELECT DISTINCT digest FROM tape_events WHERE command IN ('prepare', 'execute') AND digest IS NOT NULL;

CREATE OR REPLACE TEMP TABLE lint_findings (rule VARCHAR, digest VARCHAR, events BIGINT, duration_ns BIGINT);

-- SPDX-License-Identifier: Apache-2.0
-- These macros convert a text of a CSV or JSON row to a number or a time. Each macro returns NULL for a text that it
-- cannot read. duck_rows.py finds the calls of these macros, and reports a text that is present but unreadable. Run by
-- hand:
--   duckdb -cmd ".read capture/sql/values.sql" -c "SELECT span_ns('00:00:01.5', 1000)"

-- Returns the trimmed text, or NULL if the text means "no value".
CREATE OR REPLACE TEMP MACRO given(t) AS CASE WHEN trim(t) NOT IN ('', 'NULL', 'null', '\N') THEN trim(t) END;

-- Returns an integer that is at least 0. 12.0 counts as an integer.
CREATE OR REPLACE TEMP MACRO whole(t) AS CASE
    WHEN TRY_CAST(given(t) AS BIGINT) >= 0 AND TRY_CAST(given(t) AS DOUBLE) = TRY_CAST(given(t) AS BIGINT)
        THEN TRY_CAST(given(t) AS BIGINT) END;

-- Converts HH:MM:SS.ffffff to nanoseconds. The type TIME prints durations of up to 838 hours in this form.
CREATE OR REPLACE TEMP MACRO clock_ns(t) AS CASE
    WHEN regexp_full_match(t, '\d{1,3}:[0-5]\d:[0-5]\d(\.\d{1,9})?')
        THEN TRY_CAST(split_part(t, ':', 1) AS BIGINT) * 3600000000000 + TRY_CAST(split_part(t, ':', 2) AS BIGINT) * 60000000000
            + TRY_CAST(split_part(t, ':', 3)[:2] AS BIGINT) * 1000000000 + TRY_CAST(rpad(split_part(t, '.', 2), 9, '0') AS BIGINT) END;

-- Converts a duration to nanoseconds. The text is HH:MM:SS.ffffff, or a number of units. `unit` is the number of
-- nanoseconds per unit.
CREATE OR REPLACE TEMP MACRO span_ns(t, unit) AS coalesce(
    clock_ns(given(t)),
    CASE WHEN TRY_CAST(given(t) AS DOUBLE) * unit BETWEEN 0 AND 9e18 THEN CAST(TRY_CAST(given(t) AS DOUBLE) * unit AS BIGINT) END
);

-- Converts a time to nanoseconds since the epoch. `zone` is the offset of local times from UTC, in nanoseconds. A zone
-- after the seconds of a time takes precedence: Z, UTC, +02, +0200 or +02:00. Zone names are not supported.
CREATE OR REPLACE TEMP MACRO has_zone(t) AS regexp_matches(t, ':\d\d.*(Z|UTC|[+-]\d\d(:?\d\d)?)$');
CREATE OR REPLACE TEMP MACRO time_ns(t, zone) AS CASE
    WHEN NOT regexp_matches(regexp_replace(given(t), '(Z| UTC)$', ''), '[A-Za-z]{2}')
        AND TRY_CAST(given(t) AS TIMESTAMP) BETWEEN TIMESTAMP '1900-01-01' AND TIMESTAMP '2262-01-01'
        THEN CASE WHEN has_zone(given(t)) THEN epoch_ns(TRY_CAST(given(t) AS TIMESTAMPTZ))
            ELSE epoch_ns(TRY_CAST(given(t) AS TIMESTAMP)) - zone END END;
CREATE OR REPLACE TEMP MACRO moment_ns(t) AS time_ns(t, 0);

-- True for `user[user] @ host [address]`, the form of accounts in MySQL's log tables. Any other text is the name of a
-- user or host.
CREATE OR REPLACE TEMP MACRO is_account(t) AS regexp_full_match(t, '.*\[.*\] *@ *.*\[.*\]\s*');
CREATE OR REPLACE TEMP MACRO account_user(t) AS
    CASE WHEN is_account(t) THEN regexp_extract(t, '\[([^\]]*)\] *@', 1) ELSE t END;
CREATE OR REPLACE TEMP MACRO account_host(t) AS CASE WHEN is_account(t) THEN coalesce(
    nullif(trim(regexp_extract(t, '\] *@ *([^\[]*)\[', 1)), ''), nullif(regexp_extract(t, '\[([^\]]*)\]\s*$', 1), '')) END;

-- Returns the bytes of a statement. With binary-as-hex, `mysql` prints these bytes as hexadecimal digits.
CREATE OR REPLACE TEMP MACRO statement_bytes(t) AS CASE
    WHEN starts_with(t, '0x') AND regexp_full_match(t, '0x([0-9A-Fa-f]{2})+') THEN unhex(substr(t, 3)) ELSE encode(t) END;

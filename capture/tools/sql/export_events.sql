-- SPDX-License-Identifier: Apache-2.0
-- Lists every event of a tape with readable texts, for `export --format csv` and `jsonl`. Statements that are not UTF-8
-- are shown with \x.. escapes. Parameters are shown as hexadecimal digits.
--
-- Input: the view events.
SELECT
    * REPLACE (
        coalesce(TRY(decode(statement)), statement::VARCHAR) AS statement,
        hex(params) AS params
    ),
    make_timestamp_ns(start_ns) AS start_utc
FROM events
ORDER BY start_ns, session, seq

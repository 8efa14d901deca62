-- SPDX-License-Identifier: Apache-2.0
-- Every event of a tape with its texts readable: for `export --format csv` and `jsonl`. Input: view events.
-- Statements that are not UTF-8 are shown with \x.. escapes; params as hexadecimal digits.
SELECT
    * REPLACE (
        coalesce(TRY(decode(statement)), statement::VARCHAR) AS statement,
        hex(params) AS params
    ),
    make_timestamp_ns(start_ns) AS start_utc
FROM events
ORDER BY start_ns, session, seq

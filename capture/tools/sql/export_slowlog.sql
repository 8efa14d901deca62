-- SPDX-License-Identifier: Apache-2.0
-- Writes each event as an entry of a slow log, in the order of the ends of the events. pt-query-digest, pt-upgrade,
-- mysqldumpslow and `querytape capture slowlog` can read the entries.
--
-- Values that the tape does not have are left out, or 0 if the format requires a value. A slow log has no entries for
-- connects. Statements without a text are left out as well.
--
-- Input: the view events.
WITH named (command, name) AS (
    VALUES
        ('quit', 'Quit'),
        ('init_db', 'Init DB'),
        ('ping', 'Ping'),
        ('close_stmt', 'Close stmt'),
        ('reset_stmt', 'Reset stmt'),
        ('long_data', 'Long Data'),
        ('fetch', 'Fetch'),
        ('change_user', 'Change user'),
        ('statistics', 'Statistics'),
        ('field_list', 'Field List'),
        ('refresh', 'Refresh'),
        ('reset_connection', 'Reset Connection'),
        ('set_option', 'Set option'),
        ('process_info', 'Processlist'),
        ('prepare', 'Prepare')
),
entries AS (
    SELECT
        *,
        start_ns + coalesce(duration_ns, 0) AS end_ns,
        CASE
            WHEN command IN ('query', 'execute', 'bulk_execute') THEN statement
            WHEN name IS NOT NULL THEN encode('# administrator command: ' || name)
        END AS body
    FROM events
    LEFT JOIN named USING (command)
)
SELECT
    encode(
        '# Time: ' || strftime(make_timestamp(end_ns // 1000), '%Y-%m-%dT%H:%M:%S.%f') || 'Z' || chr(10)
        || '# User@Host: ' || coalesce("user", '') || '[' || coalesce("user", '') || '] @ ' || coalesce(host, '')
        || ' []' || coalesce('  Id: ' || lpad(thread_id::VARCHAR, 5, ' '), '') || chr(10)
        || '# Schema: ' || coalesce(db, '') || '  Last_errno: ' || coalesce(errno, 0) || '  Killed: 0' || chr(10)
        || printf('# Query_time: %.6f  Lock_time: %.6f', coalesce(duration_ns, 0) / 1e9, coalesce(lock_ns, 0) / 1e9)
        || '  Rows_sent: ' || coalesce(rows_sent, 0) || '  Rows_examined: ' || coalesce(rows_examined, 0)
        || coalesce('  Rows_affected: ' || rows_affected, '') || coalesce('  Bytes_sent: ' || bytes_sent, '') || chr(10)
        || 'SET timestamp=' || (start_ns // 1000000000) || ';' || chr(10)
    ) || body || encode(';' || chr(10)) AS entry
FROM entries
WHERE body IS NOT NULL
ORDER BY end_ns, session, seq

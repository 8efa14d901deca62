-- SPDX-License-Identifier: Apache-2.0
-- Each event as an entry of a slow log, in the order of their ends: what pt-query-digest, pt-upgrade, mysqldumpslow and
-- `querytape capture slowlog` read. What the tape does not know is left out, or 0 where the format has no other word.
-- Input: view events. Connects have no entry in a slow log; a statement without its text has none here.
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

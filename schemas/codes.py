# SPDX-License-Identifier: Apache-2.0
"""The words and bits that tapes use, by name. `native/querytape.h` has the same numbers; a test holds them equal."""

FLAGS = {
    "time_inferred": 1 << 0,  # laid inside its second: only the order and the second are known
    "duration_cut": 1 << 1,  # the logged duration reached past the session's next start
    "redacted": 1 << 2,  # literals were replaced because the statement carries passwords or keys: not replayable
    "truncated": 1 << 3,  # the statement is not whole: not replayable
    "routine": 1 << 4,  # ran inside a stored routine whose CALL is on the tape as well: not to be replayed again
    "use": 1 << 5,  # USE: changes the session's schema
    "timestamp": 1 << 6,  # the session set its own `timestamp`
    "placeholder": 1 << 7,  # a logged execute that shows `?` for its values: not replayable
    "system": 1 << 8,  # a replication, event scheduler or service account's own traffic: not a client's
    "sql_prepare": 1 << 9,  # PREPARE, EXECUTE or DEALLOCATE as statements: their text is elsewhere
    "clock_guessed": 1 << 10,  # its own time line was not believable; its neighbours' was taken
    "killed": 1 << 11,  # the server says that it was killed
    "unbound": 1 << 12,  # of a prepared statement whose PREPARE or parameters are not known: not replayable
    "carried": 1 << 13,  # from before the tape begins: its session's state
}
DANGER_SHIFT = 16

# Statements that act on the server itself. Never replayed unless asked for by this name.
DANGERS = {
    "none": 0,
    "shutdown": 1,  # SHUTDOWN, RESTART
    "kill": 2,
    "set_global": 3,  # SET GLOBAL, SET PERSIST, @@global. =
    "accounts": 4,  # GRANT, REVOKE, CREATE/ALTER/DROP/RENAME USER or ROLE, SET PASSWORD
    "replication": 5,  # CHANGE MASTER / REPLICATION, START/STOP/RESET REPLICA, RESET MASTER, PURGE, BINLOG, GTID
    "load_data": 6,  # LOAD DATA / XML, LOAD_FILE()
    "into_file": 7,  # SELECT ... INTO OUTFILE / DUMPFILE
    "plugins": 8,  # INSTALL / UNINSTALL, CREATE FUNCTION ... SONAME, CREATE SERVER, CLONE
    "flush": 9,  # FLUSH, RESET QUERY CACHE
    "table_maintenance": 10,  # ANALYZE, OPTIMIZE, REPAIR, CHECK TABLE, CACHE INDEX
    "instance": 11,  # ALTER INSTANCE, LOCK INSTANCE, BACKUP, CREATE TABLESPACE, resource groups, sys_exec()
    "set_session_unsafe": 12,  # SET SESSION sql_log_bin, TRANSACTION READ WRITE, ...: undoes what keeps a replay safe
    "lock_tables": 13,  # LOCK TABLES
}

# What a statement does, and what its answer depends on. A text of several statements does what all of them do; of what
# undo each other (begin and commit, autocommit off and on, LOCK and UNLOCK) the last one counts.
ACTIONS = {
    "begin": 1 << 0,  # leaves a transaction open that it began: BEGIN, START TRANSACTION, XA START, COMMIT AND CHAIN
    "commit": 1 << 1,  # ends a transaction: COMMIT, XA COMMIT
    "rollback": 1 << 2,  # ends a transaction: ROLLBACK, XA ROLLBACK
    "rollback_to": 1 << 3,  # ROLLBACK TO SAVEPOINT: ends none
    "savepoint": 1 << 4,
    "release_savepoint": 1 << 5,
    "implicit_commit": 1
    << 6,  # commits what is open before it does its own: DDL, LOCK TABLES, GRANT, ANALYZE TABLE, FLUSH, ...
    "autocommit_off": 1 << 7,  # SET autocommit = 0 of the session
    "autocommit_on": 1 << 8,  # SET autocommit = anything else
    "xa": 1 << 9,
    "snapshot": 1 << 10,  # WITH CONSISTENT SNAPSHOT: reads everything as of now
    "temporary_table": 1 << 11,  # CREATE or DROP TEMPORARY TABLE
    "lock_tables": 1 << 12,  # LOCK TABLES, FLUSH TABLES WITH READ LOCK
    "unlock_tables": 1 << 13,
    "locking_read": 1 << 14,  # FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE
    "asks_time": 1 << 15,  # NOW(), CURRENT_TIMESTAMP, UNIX_TIMESTAMP() without an argument, ...
    "random": 1 << 16,  # RAND(), UUID(), ...
    "session_dependent": 1
    << 17,  # asks what its connection did or holds: LAST_INSERT_ID(), @variable, GET_LOCK(), SHOW WARNINGS
    "asks_server": 1 << 18,  # asks about the server or the account: @@variable, VERSION(), USER(), SHOW, EXPLAIN
}

CLASSES = ("read", "write", "transaction", "session", "ddl", "admin")

# MySQL's own names of the client commands, in lower case.
COMMANDS = {
    "query": 1,
    "prepare": 2,
    "execute": 3,
    "close_stmt": 4,
    "reset_stmt": 5,
    "long_data": 6,
    "fetch": 7,
    "init_db": 8,
    "ping": 9,
    "reset_connection": 10,
    "change_user": 11,
    "quit": 12,
    "connect": 13,
    "statistics": 14,
    "field_list": 15,
    "refresh": 16,
    "process_info": 17,
    "process_kill": 18,
    "set_option": 19,
    "debug": 20,
    "shutdown": 21,
    "binlog_dump": 22,
    "register_slave": 23,
    "bulk_execute": 24,
    "other": 25,
}

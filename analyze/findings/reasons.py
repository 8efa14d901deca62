# SPDX-License-Identifier: Apache-2.0
"""Say in words why an event was not sent, or was sent late; docs/format.md has the reasons in full."""

REASONS = {
    "write": "writes, for --allow-writes was not given",
    "ddl": "DDL, for --allow-writes was not given",
    "admin": "administration, for --allow-writes was not given",
    "locking_read": "locking reads, for --allow-writes was not given",
    "filter:session": "of sessions that were not selected",
    "filter:time": "before or after the selected time",
    "filter:event": "statements that were not selected",
    "filter:resumed": "done by the run that was resumed",
    "filter:failed_in": "had not failed in the run of --failed-in",
    "filter:slower_in": "had not got slower in the report of --slower-in",
    "original_failed": "had failed on the tape because of their moment",
    "kill_alone": "KILLs whose victim is not sent",
    "truncated": "cut on the tape",
    "redacted": "redacted when they were recorded",
    "placeholder": "the log has ? for their values",
    "no_statement": "the log does not show their text",
    "not_prepared": "their PREPARE is missing or failed",
    "nothing_to_close": "closing or resetting what was not prepared",
    "nothing_to_prepare": "PREPAREs whose EXECUTE is sent as text",
    "sql_prepare": "PREPARE, EXECUTE or DEALLOCATE as statements",
    "routine": "ran inside a routine whose CALL is sent",
    "system": "the server's own traffic",
    "connect_by_replayer": "connects: the replayer makes its own",
    "unsupported_command": "commands that are not replayed",
    "unknown_class": "written by a newer querytape",
    "connect_failed": "their session could not connect",
    "connection_lost": "their connection was lost",
    "schema_failed": "their schema could not be selected",
    "after_quit": "after their session's end",
    "no_cursor": "FETCH without a cursor",
    "params_mismatch": "their values do not fit the statement",
    "unsupported": "commands that the replayer does not send",
    "transaction_lost": "their transaction was lost with its connection",
    "overload": "dropped: the queue was full",
    "not_permitted": "their text does more than the options allow",
    "kill_target_unknown": "KILLs of unknown connections",
    "stopped": "the run was stopped",
    "drain_timeout": "no answer before the end of --drain",
    "driver_lost": "their driver was lost",
    "tape_unread": "the tape could not be read that far",
}
# Causes of lateness.sql: whom or what an event had to wait for.
CAUSES = {
    "all": "all causes together",
    "session": "the previous answer of its session",
    "order": "commits of other sessions (--order commit)",
    "connect": "its connection",
    "feeder": "room in the queue (--queue-memory)",
    "tool": "the replayer itself",
}


def reason_words(reason: str | None) -> str:
    """Return why, in words; a reason that is not known here as it is."""
    if reason is None:
        return ""
    if reason.startswith("danger:"):
        return f"act on the server itself, for --allow-statement {reason.partition(':')[2]} was not given"
    return REASONS.get(reason, reason)

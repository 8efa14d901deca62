# SPDX-License-Identifier: Apache-2.0
"""Names and numbers that C, SQL and Python share.

Made by `make names` from schemas/names.toml, which says what each means. Do not edit.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reason:
    """Why an event was not sent. `words` come after a count. `lost`: it counts as missing."""

    words: str
    lost: bool


@dataclass(frozen=True)
class Counter:
    """A counter of the engine. `in_accounting`: run.json has it. `metric`: its name for Prometheus."""

    in_accounting: bool
    metric: str | None
    help: str


@dataclass(frozen=True)
class Setting:
    """An option of the command line for the engine. `least`, `most`: None = any number."""

    option: str
    least: int | None
    most: int | None
    help: str


@dataclass(frozen=True)
class EngineCounts:
    """What the engine counts, as `struct qt_engine_counts` has it. Each name is in schemas/names.toml."""

    fed: int
    executed: int
    not_sent: int
    reads: int
    writes: int
    others: int
    errors: int
    injected: int
    query_attributes_dropped: int
    bulk_rows_expanded: int
    executed_as_query: int
    rows_too_large: int
    called_with_variables: int
    several_statements: int
    sessions_opened: int
    sessions_failed: int
    sessions_lost: int
    sessions_reopened: int
    sessions_rested: int
    timeouts: int
    overload_waits: int
    overload_drops: int
    not_permitted: int
    order_waits: int
    order_broken: int
    order_wait_ns: int
    order_stalls: int
    overrides_failed: int
    read_target_errors: int
    drain_timeout: int


PaceKind = Literal["schedule", "think", "none"]
OnLost = Literal["end", "reopen", "stop"]
Overload = Literal["wait", "drop", "stop"]
TlsKind = Literal["disabled", "required", "verify_ca", "verify_identity"]
CLASSES = ("read", "write", "transaction", "session", "ddl", "admin")
SHIFT_DANGER = 16
SHIFT_CLONE = 40
USE_ASKS = 1
USE_ADDS_ROWS = 2
USE_TAKES_LOCK = 4
USE_FREES_LOCK = 8
USE_LOOKS_AT_LOCK = 16
USE_LATER = 32
FACT_LONG = 1
FACT_LOCKS = 2
FACT_OWN = 4
FACT_READS = 8
FACT_STATEMENT = 16
FACT_EXCLUSIVE = 32
FACT_LAST = 64
FACT_WAITS = 128
TABLE_ALL = 0
TABLE_UNKNOWN = 1
TABLE_USER_LOCKS = 2
TABLE_FIRST = 3
FLAGS = {
    "time_inferred": 1,
    "duration_cut": 2,
    "redacted": 4,
    "truncated": 8,
    "routine": 16,
    "use": 32,
    "timestamp": 64,
    "placeholder": 128,
    "system": 256,
    "sql_prepare": 512,
    "clock_guessed": 1024,
    "killed": 2048,
    "unbound": 4096,
    "carried": 8192,
}
DANGERS = {
    "none": 0,
    "shutdown": 1,
    "kill": 2,
    "set_global": 3,
    "accounts": 4,
    "replication": 5,
    "load_data": 6,
    "into_file": 7,
    "plugins": 8,
    "flush": 9,
    "table_maintenance": 10,
    "instance": 11,
    "set_session_unsafe": 12,
    "lock_tables": 13,
}
ACTIONS = {
    "begin": 1,
    "commit": 2,
    "rollback": 4,
    "rollback_to": 8,
    "savepoint": 16,
    "release_savepoint": 32,
    "implicit_commit": 64,
    "autocommit_off": 128,
    "autocommit_on": 256,
    "xa": 512,
    "snapshot": 1024,
    "temporary_table": 2048,
    "lock_tables": 4096,
    "unlock_tables": 8192,
    "locking_read": 16384,
    "asks_time": 32768,
    "random": 65536,
    "session_dependent": 131072,
    "asks_server": 262144,
    "asks_diagnostics": 524288,
    "many_rows": 1048576,
}
PROPERTIES = {
    "adds_rows": 1,
    "asks_rows": 2,
    "copies_rows": 4,
    "hides_ids": 8,
    "calls_procedure": 16,
    "shows": 32,
    "explains_write": 64,
    "explainable": 128,
    "prepares_text": 256,
    "prepares_xa": 512,
    "ends_xa": 1024,
    "takes_user_lock": 2048,
    "frees_user_lock": 4096,
    "looks_at_user_lock": 8192,
    "sets_id_steps_global": 16384,
    "sets_id_steps_back": 32768,
    "order_by": 65536,
    "order_by_random": 131072,
    "group_by": 262144,
    "limit": 524288,
    "limit_inside": 1048576,
    "concat_unsorted": 2097152,
    "chance": 4194304,
    "sysdate": 8388608,
    "time_in_condition": 16777216,
    "chance_in_condition": 33554432,
    "session_in_condition": 67108864,
    "sorts": 134217728,
    "joins": 268435456,
    "selects_all": 536870912,
    "changes_schema": 1073741824,
}
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
COUNTERS = {
    "fed": Counter(False, "fed_events", "Events passed to their sessions. A session waits until the event is due."),
    "executed": Counter(False, None, ""),
    "not_sent": Counter(False, "not_sent_events", "Events passed to their sessions but not sent."),
    "reads": Counter(False, None, ""),
    "writes": Counter(False, None, ""),
    "others": Counter(False, None, ""),
    "errors": Counter(False, None, ""),
    "injected": Counter(True, "injected_commands", "Commands that the replay sent in addition to the tape."),
    "query_attributes_dropped": Counter(True, None, ""),
    "bulk_rows_expanded": Counter(True, None, ""),
    "executed_as_query": Counter(True, None, ""),
    "rows_too_large": Counter(True, None, ""),
    "called_with_variables": Counter(True, None, ""),
    "several_statements": Counter(True, None, ""),
    "sessions_opened": Counter(False, "sessions_opened", "Sessions that connected. A reopened session counts once."),
    "sessions_failed": Counter(False, "sessions_failed", "Sessions that could not connect."),
    "sessions_lost": Counter(False, "sessions_lost", "Connections that were lost."),
    "sessions_reopened": Counter(True, "sessions_reopened", "Connections reopened by --on-lost reopen."),
    "sessions_rested": Counter(True, "sessions_rested", "Idle connections closed by --follow."),
    "timeouts": Counter(True, "statement_timeouts", "Statements killed after --statement-timeout."),
    "overload_waits": Counter(True, "overload_waits", "Number of times the queue was full while events were overdue."),
    "overload_drops": Counter(True, "overload_dropped_events", "Overdue events dropped by --overload drop."),
    "not_permitted": Counter(True, "not_permitted_events", "Events whose statement the options do not allow."),
    "order_waits": Counter(True, "order_waits", "Events that waited for commits of other sessions."),
    "order_broken": Counter(True, "order_broken", "Waits of --order commit that --order-bound ended."),
    "order_wait_ns": Counter(True, None, ""),
    "order_stalls": Counter(False, None, ""),
    "overrides_failed": Counter(True, None, ""),
    "read_target_errors": Counter(True, None, ""),
    "drain_timeout": Counter(False, "drain_cut_events", "Events without a reply at the end of --drain."),
}
REASONS = {
    "write": Reason("writes without --allow-writes", False),
    "ddl": Reason("DDL without --allow-writes", False),
    "admin": Reason("administration without --allow-writes", False),
    "locking_read": Reason("locking reads without --allow-writes", False),
    "filter:session": Reason("session not selected", False),
    "filter:time": Reason("outside the selected time", False),
    "filter:event": Reason("statement not selected", False),
    "filter:resumed": Reason("already executed by the resumed run", False),
    "filter:failed_in": Reason("no failure in the run that --failed-in names", False),
    "filter:slower_in": Reason("not slower in the report that --slower-in names", False),
    "original_failed": Reason("failed on the tape because of a lock wait, KILL, timeout or old snapshot", False),
    "no_answer": Reason("no reply on the tape: the session ended inside a transaction", False),
    "kill_alone": Reason("KILL of a statement that is not sent", False),
    "truncated": Reason("truncated on the tape", True),
    "redacted": Reason("literals replaced by the capture", True),
    "placeholder": Reason("? instead of values in the log", True),
    "no_statement": Reason("no statement text in the log", True),
    "not_prepared": Reason("PREPARE is missing or failed", True),
    "nothing_to_prepare": Reason("PREPARE of executions that are sent as text", False),
    "nothing_to_close": Reason("close or reset of a statement that is not prepared", False),
    "sql_prepare": Reason("PREPARE, EXECUTE or DEALLOCATE in SQL", True),
    "routine": Reason("statement inside a routine whose CALL is sent", False),
    "system": Reason("traffic of the server itself", False),
    "connect_by_replayer": Reason("login: the replay opens its own connections", False),
    "unsupported_command": Reason("unsupported command", True),
    "unknown_class": Reason("recorded by a newer querytape", True),
    "connect_failed": Reason("session could not connect", False),
    "connection_lost": Reason("connection was lost", False),
    "schema_failed": Reason("schema could not be selected", False),
    "after_quit": Reason("event after the end of its session", False),
    "no_cursor": Reason("FETCH without a cursor", False),
    "params_mismatch": Reason("parameters do not match the statement", False),
    "unsupported": Reason("command not supported by the replay engine", False),
    "transaction_lost": Reason("connection was lost inside the transaction", False),
    "overload": Reason("dropped because the queue was full", False),
    "not_permitted": Reason("statement not allowed by the options", False),
    "kill_target_unknown": Reason("KILL of an unknown connection", False),
    "stopped": Reason("the run was stopped", False),
    "drain_timeout": Reason("no reply before the end of --drain", False),
    "tape_unread": Reason("read error on the tape", False),
    "driver_lost": Reason("driver was lost", False),
}
# What an event that was sent late had waited for.
LATENESS = {
    "session": "wait for the previous reply",
    "order": "wait for commits of other sessions (--order commit)",
    "connect": "wait for the connection",
    "feeder": "wait for room in the queue (--queue-memory)",
    "tool": "delay in querytape itself",
}
# The numbers of choices.
CHOICES: dict[str, dict[str, int]] = {
    "pace": {"schedule": 0, "think": 1, "none": 2},
    "on_lost": {"end": 0, "reopen": 1, "stop": 2},
    "overload": {"wait": 0, "drop": 1, "stop": 2},
    "tls": {"disabled": 0, "required": 1, "verify_ca": 2, "verify_identity": 3},
}


@dataclass(frozen=True, kw_only=True)
class EngineAddress:
    """A target of the engine: exactly one of host and socket."""

    host: str | None = None
    socket: str | None = None
    port: int = 3306
    user: str = "root"
    password: str | None = None
    asks_for_key: bool = False


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """What a user sets of the engine. `_ns` are nanoseconds, `_s` seconds."""

    charset: str = "utf8mb4"
    connect_timeout_s: int = 20
    connect_rate: int = 500
    lead_ns: int = 2000000000
    queue_bytes: int = 268435456
    drain_ns: int = 60000000000
    timer_probes: int = 0
    verify: bool = False
    statement_timeout_ns: int = 0
    max_errors: int | None = None
    on_lost: OnLost = "end"
    overload: Overload = "wait"
    order_bound_ns: int = 2000000000
    max_concurrent_sessions: int = 0


@dataclass(frozen=True, kw_only=True)
class PlainEngineOptions(EngineSettings, EngineAddress):
    """What the engine is told: `struct qt_engine_options`, without accounts and a second target."""

    db: str | None = None
    init: str | None = None
    pace: PaceKind = "schedule"
    stack_bytes: int = 131072
    compress: bool = False
    tls: TlsKind = "disabled"
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    cleartext: bool = False
    public_key: str | None = None
    plugins: str | None = None
    max_row_bytes: int = 0
    zero_at_ns: int = 0
    holds: bool = False
    order_tables: int = 0
    check_statements: bool = False
    reads_only: bool = False
    allowed_dangers: int = 0
    allowed_classes: int = 0
    refused_calls: str | None = None
    follows: bool = False
    rest_open: int = 0
    rest_ns: int = 0


SETTINGS = {
    "charset": Setting(
        "--charset",
        None,
        None,
        "Character set of sessions whose character set is not on the tape.",
    ),
    "connect_rate": Setting(
        "--connect-rate",
        1,
        None,
        "Maximum number of connections opened per second before the first event.",
    ),
    "lead_ns": Setting(
        "--lead",
        None,
        None,
        "Time between the login and the first event of a session, if the tape does not contain the login time.",
    ),
    "queue_bytes": Setting(
        "--queue-memory",
        1,
        None,
        "Memory limit for events that wait for their due time.",
    ),
    "drain_ns": Setting(
        "--drain",
        0,
        None,
        "Maximum time to wait for the last answers after the last event was sent.",
    ),
    "timer_probes": Setting(
        "--timer-probes",
        0,
        64,
        "Number of threads (at most 64) that measure how late this machine wakes sleeping threads.",
    ),
    "verify": Setting(
        "--verify",
        None,
        None,
        "Record a checksum of the rows of each result, so that reports can compare results.",
    ),
    "statement_timeout_ns": Setting(
        "--statement-timeout",
        None,
        None,
        "Maximum duration of a statement on the target. Longer statements are killed. Default: no limit.",
    ),
    "max_errors": Setting(
        "--max-errors",
        0,
        None,
        "Stop the run when more than this number of statements fail.",
    ),
    "on_lost": Setting(
        "--on-lost",
        None,
        None,
        "Reaction to a lost connection: end its session, reopen the connection at the session's next transaction "
        "(one attempt per second), or stop the run.",
    ),
    "overload": Setting(
        "--overload",
        None,
        None,
        "Reaction to a full queue while events are late: wait, drop late events, or stop the run.",
    ),
    "order_bound_ns": Setting(
        "--order-bound",
        None,
        None,
        "Time without progress of the awaited session after which a wait of --order commit ends.",
    ),
}
# The numbers that None is.
NONES = {"max_errors": -1}

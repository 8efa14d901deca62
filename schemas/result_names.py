# SPDX-License-Identifier: Apache-2.0
"""How and why results differ, in words.

Made by `make names` from schemas/names.toml, which says what each means. Do not edit.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ResultKind:
    """How results differ, in words, and what to do where no reason is known."""

    words: str
    remedy: str


@dataclass(frozen=True)
class ResultReason:
    """Why results differ, in words, and what to do. `unproven`: nothing proves it, and this decides it; or None."""

    words: str
    remedy: str
    unproven: str | None


RESULT_KINDS = {
    "rows": ResultKind(
        "different number of rows",
        "compare the data of both servers, then collations and sql_mode (replay --verify, report --show)",
    ),
    "data": ResultKind(
        "different data",
        "compare the data of both servers, then types, collations, sql_mode and time zone",
    ),
    "affected": ResultKind(
        "different number of affected rows",
        "compare the data of both servers, and reset the servers between rounds (--reset)",
    ),
    "order": ResultKind(
        "different order of rows",
        "add ORDER BY if the order matters",
    ),
    "warnings": ResultKind(
        "different number of warnings",
        "compare sql_mode and the output of SHOW WARNINGS",
    ),
}
RESULT_REASONS = {
    "limit_unsorted": ResultReason(
        "LIMIT without ORDER BY",
        "add ORDER BY, because the server chooses the rows",
        None,
    ),
    "asks_session": ResultReason(
        "reads properties of the session or server",
        "no action is needed, unless the application depends on this result",
        None,
    ),
    "asks_server": ResultReason(
        "reads properties of the server",
        "no action is needed, unless the application depends on this result",
        None,
    ),
    "asks_time": ResultReason(
        "reads the current time",
        "the difference is expected; to compare the result, replay both sides with --now original",
        None,
    ),
    "group_by_unsorted": ResultReason(
        "GROUP BY no longer sorts",
        "add ORDER BY, because GROUP BY does not sort rows in MySQL 8.0 and later",
        None,
    ),
    "concat_unsorted": ResultReason(
        "GROUP_CONCAT without ORDER BY",
        "add ORDER BY inside GROUP_CONCAT",
        None,
    ),
    "ties_under_limit": ResultReason(
        "possibly ties in ORDER BY with LIMIT",
        "add columns to ORDER BY until no two rows tie; if the difference remains, compare the data",
        None,
    ),
    "unsorted": ResultReason(
        "rows without ORDER BY",
        "add ORDER BY if the order matters, because the server chooses the order",
        None,
    ),
    "ties": ResultReason(
        "ties in ORDER BY, or a different collation",
        "add columns to ORDER BY until no two rows tie, and compare collations",
        None,
    ),
    "perhaps_race": ResultReason(
        "possibly a race with writes of other sessions",
        "replay both sides with --order commit; if the difference remains, compare the data of both servers",
        "replay both sides with --order commit to find the cause",
    ),
    "perhaps_limit_unsorted": ResultReason(
        "possibly LIMIT without ORDER BY",
        "add ORDER BY, and compare the data of both servers",
        "add ORDER BY to make the result comparable",
    ),
    "perhaps_limit_inside": ResultReason(
        "possibly LIMIT without ORDER BY in a subquery",
        "add ORDER BY to the subquery, and compare the data of both servers",
        "add ORDER BY to make the result comparable",
    ),
    "perhaps_chance_in_condition": ResultReason(
        "possibly a random value in a condition",
        "compare the data of both servers: a random value or lost data can cause the difference",
        "compare the data of both servers",
    ),
    "perhaps_chance_with_columns": ResultReason(
        "possibly a random value in a result that also contains columns",
        "compare the data of both servers: a different value in a column can also cause the difference",
        "compare the data of both servers",
    ),
    "perhaps_session_in_condition": ResultReason(
        "possibly a session or server value in a condition",
        "compare the data of both servers and the session or server values in the statement",
        "compare the data of both servers",
    ),
    "perhaps_session_with_columns": ResultReason(
        "possibly a session or server value in a result that also contains columns",
        "compare the data of both servers: a different value in a column can also cause the difference",
        "compare the data of both servers",
    ),
    "perhaps_time_in_condition": ResultReason(
        "possibly the current time in a condition",
        "to compare the result, replay both sides with --now original",
        "replay both sides with --now original to find the cause",
    ),
    "perhaps_time_with_columns": ResultReason(
        "possibly the current time in a result that also contains columns",
        "to compare the columns, replay both sides with --now original",
        "replay both sides with --now original to find the cause",
    ),
    "chance": ResultReason(
        "random value",
        "the difference is expected",
        None,
    ),
    "sorted_by_chance": ResultReason(
        "random sort order",
        "the difference is expected",
        None,
    ),
    "write_not_sent": ResultReason(
        "an earlier write to the same tables was not sent on one side",
        "first find out why the write was not sent",
        None,
    ),
    "write_failed": ResultReason(
        "an earlier write to the same tables failed on one side",
        "first fix the error that the report lists under 'breaks'",
        None,
    ),
    "write_changed_others": ResultReason(
        "an earlier write to the same tables changed different rows on one side",
        "first check why the earlier write changed different rows",
        None,
    ),
    "session_lost": ResultReason(
        "the session had lost its connection on one side",
        "first fix the error that the report lists under 'breaks'",
        None,
    ),
    "set_failed": ResultReason(
        "an earlier SET of the session failed on one side",
        "first fix the error that the report lists under 'breaks'",
        None,
    ),
    "server_writes": ResultReason(
        "only one side has a scheduled event or trigger that writes to the same tables",
        "configure B like A, and compare again",
        None,
    ),
}

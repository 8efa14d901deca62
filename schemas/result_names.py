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
        "other number of rows",
        "compare the data of both servers, then collations and sql_mode; replay --verify, report --show",
    ),
    "data": ResultKind(
        "other data",
        "compare the data of both servers, then types, collations, sql_mode and time zone",
    ),
    "affected": ResultKind(
        "other number of affected rows",
        "compare the data of both servers; reset them between rounds (--reset)",
    ),
    "order": ResultKind(
        "other order of rows",
        "add ORDER BY if the order matters",
    ),
    "warnings": ResultKind(
        "other number of warnings",
        "compare sql_mode and the output of SHOW WARNINGS",
    ),
}
RESULT_REASONS = {
    "limit_unsorted": ResultReason(
        "LIMIT without ORDER BY",
        "add ORDER BY: the server chooses the rows",
        None,
    ),
    "asks_session": ResultReason(
        "asks about its session or server",
        "nothing, if the application does not depend on it",
        None,
    ),
    "asks_server": ResultReason(
        "asks about the server",
        "nothing, if the application does not depend on it",
        None,
    ),
    "asks_time": ResultReason(
        "asks the time",
        "this is to be expected; to compare it, replay both sides with --now original",
        None,
    ),
    "group_by_unsorted": ResultReason(
        "GROUP BY no longer sorts",
        "add ORDER BY: before MySQL 8.0 GROUP BY also sorted its rows",
        None,
    ),
    "concat_unsorted": ResultReason(
        "GROUP_CONCAT without ORDER BY",
        "add ORDER BY inside GROUP_CONCAT",
        None,
    ),
    "ties_under_limit": ResultReason(
        "perhaps ties in ORDER BY under LIMIT",
        "add columns to ORDER BY until no two rows tie, else compare the data",
        None,
    ),
    "unsorted": ResultReason(
        "rows without ORDER BY",
        "add ORDER BY if the order matters: the server chooses the order",
        None,
    ),
    "ties": ResultReason(
        "ties in ORDER BY, or another collation",
        "add columns to ORDER BY until no two rows tie; compare collations",
        None,
    ),
    "perhaps_race": ResultReason(
        "perhaps writes of other sessions, whose order is not kept",
        "replay both sides with --order commit; if the difference remains, compare the data of both servers",
        "--order commit on both sides decides it",
    ),
    "perhaps_limit_unsorted": ResultReason(
        "perhaps LIMIT without ORDER BY",
        "add ORDER BY: the server chooses the rows; compare the data of both servers",
        "with ORDER BY it can be compared",
    ),
    "perhaps_limit_inside": ResultReason(
        "perhaps LIMIT without ORDER BY in a subquery",
        "add ORDER BY to the subquery; compare the data of both servers",
        "with ORDER BY it can be compared",
    ),
    "perhaps_chance_in_condition": ResultReason(
        "perhaps chance, in a condition",
        "compare the data of both servers: a random value or lost data can cause this",
        "compare the data of both servers",
    ),
    "perhaps_chance_with_columns": ResultReason(
        "perhaps chance, next to columns",
        "compare the data of both servers: another value in a column can cause this as well",
        "compare the data of both servers",
    ),
    "perhaps_session_in_condition": ResultReason(
        "perhaps its session or server, in a condition",
        "compare the data of both servers, and the values that the statement asks for",
        "compare the data of both servers",
    ),
    "perhaps_session_with_columns": ResultReason(
        "perhaps its session or server, next to columns",
        "compare the data of both servers: another value in a column can cause this as well",
        "compare the data of both servers",
    ),
    "perhaps_time_in_condition": ResultReason(
        "perhaps the time, in a condition",
        "to compare it, replay both sides with --now original",
        "--now original on both sides decides it",
    ),
    "perhaps_time_with_columns": ResultReason(
        "perhaps the time, next to columns",
        "to compare the columns, replay both sides with --now original",
        "--now original on both sides decides it",
    ),
    "chance": ResultReason(
        "random",
        "this is to be expected",
        None,
    ),
    "sorted_by_chance": ResultReason(
        "sorts at random",
        "this is to be expected",
        None,
    ),
    "write_not_sent": ResultReason(
        "an earlier write to its tables was not sent on one side",
        "an event that was not sent caused it: look at that first",
        None,
    ),
    "write_failed": ResultReason(
        "an earlier write to its tables failed on one side",
        "an error under 'breaks' caused it: mend that first",
        None,
    ),
    "write_changed_others": ResultReason(
        "an earlier write to its tables changed other rows on one side",
        "that write caused it: look at the write first",
        None,
    ),
    "session_lost": ResultReason(
        "its session had lost its connection on one side",
        "an error under 'breaks' caused it: mend that first",
        None,
    ),
    "set_failed": ResultReason(
        "an earlier SET of its session failed on one side",
        "an error under 'breaks' caused it: mend that first",
        None,
    ),
    "server_writes": ResultReason(
        "only one side has an event or trigger that writes to its tables",
        "set B as in A, and compare again",
        None,
    ),
}

# SPDX-License-Identifier: Apache-2.0
"""Overrides what the target would decide by itself: the clock, generated ids, schemas, accounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.duck import sql_text
from ...servers.option_files import Account
from ...servers.queries import whole

STEPS = ("auto_increment_increment", "auto_increment_offset")


@dataclass(frozen=True)
class Overrides:
    """What is overridden. `clock`: statements that ask for the time get the tape's. `ids`: inserts get the tape's ids.

    `schemas`: a schema of the tape -> the target's. `accounts`: a user of the tape -> who it is on the target; others
    are the run's own user.
    """

    clock: bool = False
    ids: bool = False
    schemas: Mapping[str, str] = field(default_factory=dict)
    accounts: Mapping[str, Account] = field(default_factory=dict)

    @property
    def numbered(self) -> tuple[tuple[str, str | None], ...]:
        """(user, password) of each account, by the number that a plan gives it."""
        return tuple((account.user, account.password) for account in self.accounts.values())

    def clock_sql(self) -> str:
        """Return microseconds since 1970 to be set before an event, or NULL, in terms of its columns.

        Writes are taken to ask: columns may have CURRENT_TIMESTAMP as their default.
        """
        if not self.clock:
            return "NULL::BIGINT"
        asks = "class IN ('write', 'ddl') OR has_action(actions, 'asks_time')"
        own = "has_flag(flags, 'timestamp')"
        return f"CASE WHEN actions IS NOT NULL AND NOT {own} AND ({asks}) THEN tape_ns // 1000 END"

    def ids_sql(self) -> str:
        """Return the insert id to be set before an event, or NULL."""
        return "CASE WHEN class = 'write' THEN insert_id END" if self.ids else "NULL::BIGINT"

    def many_ids_sql(self) -> str:
        """Return the insert ids to be set inside a text of several statements, or NULL."""
        return "nullif(insert_ids, '')" if self.ids else "NULL::VARCHAR"

    def schema_sql(self, column: str) -> str:
        """Return a schema's name on the target."""
        cases = " ".join(f"WHEN {sql_text(a)} THEN {sql_text(b)}" for a, b in self.schemas.items())
        return f"CASE {column} {cases} ELSE {column} END" if cases else column

    def account_sql(self, column: str) -> str:
        """Return an account's number, or NULL for the run's own."""
        cases = " ".join(f"WHEN {sql_text(user)} THEN {n}" for n, user in enumerate(self.accounts))
        return f"(CASE {column} {cases} END)::INTEGER" if cases else "NULL::INTEGER"

    def as_json(self) -> dict[str, Any]:
        """Return what run.json keeps of it: no passwords."""
        return {
            "now": "original" if self.clock else "wall",
            "insert_id": "original" if self.ids else "target",
            "map_db": dict(self.schemas),
            "map_user": {user: account.user for user, account in self.accounts.items()},
        }


def id_steps(variables: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """Return what ids after the first of a statement follow from: increment and offset; None = not known."""
    increment, offset = (whole((variables or {}).get(name)) for name in STEPS)
    return None if increment is None or offset is None else (increment, offset)


def source_steps(info: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return those of the server that a tape is from, None where the tape does not know them."""
    server = info.get("server") or {}
    return id_steps(server.get("variables"))

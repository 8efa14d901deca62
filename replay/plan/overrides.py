# SPDX-License-Identifier: Apache-2.0
"""Override values that the target would otherwise choose: the clock, generated ids, schemas, accounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.duck import sql_text
from ...servers.option_files import Account
from ...servers.queries import whole

STEPS = ("auto_increment_increment", "auto_increment_offset")


@dataclass(frozen=True)
class Overrides:
    """The overrides of a replay.

    `clock`: statements that use the current time get the tape's time. `ids`: inserts get the tape's ids. `schemas` maps
    schemas of the tape to schemas of the target. `accounts` maps users of the tape to accounts of the target. All other
    users are replayed with the run's own account.
    """

    clock: bool = False
    ids: bool = False
    schemas: Mapping[str, str] = field(default_factory=dict)
    accounts: Mapping[str, Account] = field(default_factory=dict)

    @property
    def numbered(self) -> tuple[tuple[str, str | None], ...]:
        """The (user, password) pair of each account. The position is the account's number in a plan."""
        return tuple((account.user, account.password) for account in self.accounts.values())

    def clock_sql(self) -> str:
        """Return an SQL expression for the clock value before an event: microseconds since 1970, or NULL.

        Every write counts as a use of the current time, because columns may have CURRENT_TIMESTAMP as their default.
        """
        if not self.clock:
            return "NULL::BIGINT"
        asks = "class IN ('write', 'ddl') OR has_action(actions, 'asks_time')"
        own = "has_flag(flags, 'timestamp')"
        return f"CASE WHEN actions IS NOT NULL AND NOT {own} AND ({asks}) THEN tape_ns // 1000 END"

    def ids_sql(self) -> str:
        """Return an SQL expression for the insert id to set before an event, or NULL."""
        return "CASE WHEN class = 'write' THEN insert_id END" if self.ids else "NULL::BIGINT"

    def many_ids_sql(self) -> str:
        """Return an SQL expression for the insert ids of a text with several statements, or NULL."""
        return "nullif(insert_ids, '')" if self.ids else "NULL::VARCHAR"

    def schema_sql(self, column: str) -> str:
        """Return an SQL expression for the name of a schema on the target."""
        cases = " ".join(f"WHEN {sql_text(a)} THEN {sql_text(b)}" for a, b in self.schemas.items())
        return f"CASE {column} {cases} ELSE {column} END" if cases else column

    def account_sql(self, column: str) -> str:
        """Return an SQL expression for the number of an account. NULL means the run's own account."""
        cases = " ".join(f"WHEN {sql_text(user)} THEN {n}" for n, user in enumerate(self.accounts))
        return f"(CASE {column} {cases} END)::INTEGER" if cases else "NULL::INTEGER"

    def as_json(self) -> dict[str, Any]:
        """Return the overrides as fields of run.json, without passwords."""
        return {
            "now": "original" if self.clock else "wall",
            "insert_id": "original" if self.ids else "target",
            "map_db": dict(self.schemas),
            "map_user": {user: account.user for user, account in self.accounts.items()},
        }


def id_steps(variables: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """Return the increment and offset of generated ids. None means unknown.

    If the first id of a statement is known, increment and offset determine its later ids.
    """
    increment, offset = (whole((variables or {}).get(name)) for name in STEPS)
    return None if increment is None or offset is None else (increment, offset)


def source_steps(info: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the increment and offset of the server that the tape was recorded on.

    Returns None if the tape does not contain these values.
    """
    server = info.get("server") or {}
    return id_steps(server.get("variables"))

# SPDX-License-Identifier: Apache-2.0
"""A fake server backed by a dictionary. It knows the statements of `capture server` and records each state."""

import re
from collections.abc import Sequence
from typing import Any

import pymysql


class FakeServer:
    """Global variables, sessions as {id: long_query_time}, and all SET statements in order.

    `refused`: variables that cannot be set. `answers`: (pattern, rows or error) for any other statement. `killed`: ids
    of killed connections.
    """

    def __init__(self, variables: dict[str, str], sessions: dict[int, float] | None = None) -> None:
        self.variables = dict(variables)
        self.sessions = dict(sessions or {})
        self.sets: list[tuple[str, str]] = []
        self.history = [dict(variables)]
        self.refused: set[str] = set()
        self.answers: list[tuple[str, Any]] = []
        self.killed: list[int] = []
        self.shows_values = True
        self.busy: set[int] = set()

    def connection(self) -> Any:
        """Return a new connection."""
        return FakeConnection(self)

    def answer(self, sql: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows. Raises the errors of pymysql."""
        for pattern, rows in self.answers:
            if re.search(pattern, sql):
                if isinstance(rows, Exception):
                    raise rows
                return list(rows)
        if found := re.match(r"SET GLOBAL (\w+) = (.*)", sql):
            return self._set(found[1], str(arguments[0]) if arguments else found[2])
        if "SHOW GLOBAL VARIABLES LIKE" in sql:
            name = str(arguments[0]).replace("\\_", "_")
            return [(name, self.variables[name])] if name in self.variables else []
        if "variables_by_thread" in sql:
            if not self.shows_values:
                raise pymysql.err.ProgrammingError(1146, "no such table")
            return [(id_, f"{value:.6f}") for id_, value in self.sessions.items()]
        if sql == "SHOW PROCESSLIST":
            return [
                (id_, "app", f"web1:{id_}", None, "Query" if id_ in self.busy else "Sleep", 0, "")
                for id_ in self.sessions
            ]
        if sql.startswith("KILL CONNECTION "):
            self.killed.append(int(sql.split()[-1]))
            del self.sessions[self.killed[-1]]
            return []
        known: dict[str, list[tuple[Any, ...]]] = {
            "SHOW GLOBAL STATUS LIKE 'Threads_connected'": [("Threads_connected", str(len(self.sessions)))],
            "SHOW GRANTS": [("GRANT ALL PRIVILEGES ON *.* TO `app`@`%`",)],
            "SELECT CURRENT_USER()": [("app@10.0.0.%",)],
            "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx": [],
        }
        if sql in known:
            return list(known[sql])
        raise pymysql.err.ProgrammingError(1064, f"not known: {sql}")

    def _set(self, name: str, value: str) -> list[tuple[Any, ...]]:
        if name in self.refused or name not in self.variables:
            raise pymysql.err.OperationalError(1227, f"Access denied: {name}")
        shown = f"{float(value):.6f}" if "." in self.variables[name] and "/" not in self.variables[name] else value
        self.variables[name] = shown
        self.sets.append((name, value))
        self.history.append(dict(self.variables))
        return []


class FakeConnection:
    """A connection that is also its own cursor."""

    open = True

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._rows: list[tuple[Any, ...]] = []

    def cursor(self) -> "FakeConnection":
        """Return the connection itself as the cursor."""
        return self

    def __enter__(self) -> "FakeConnection":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, arguments: Sequence[Any] = ()) -> None:
        """Execute a statement. Its rows can then be fetched."""
        self._rows = self._server.answer(sql, arguments)

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def close(self) -> None:
        """Do nothing."""


class FakeTarget:
    """A target that connects to a FakeServer. `before_look(n)` is called before the n-th connection."""

    name = "app@prod:3306"

    def __init__(self, server: FakeServer, before_look: Any = lambda n: None) -> None:
        self._server = server
        self._before_look = before_look
        self._connections = 0

    def connect(self, timeout_s: int = 10, streams: bool = False) -> Any:
        """Return a new connection."""
        self._connections += 1
        self._before_look(self._connections)
        return self._server.connection()

# SPDX-License-Identifier: Apache-2.0
"""Sessions of a comparison bypass the query cache."""

from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.experiments.compare import without_query_cache
from querytape.replay import ReplayOptions

from ..helpers.cursors import MadeTarget


class Server(MadeTarget):
    """A target whose query cache has the given type, or no query cache if the type is None."""

    def __init__(self, kind: str | None, size: str = "1048576") -> None:
        super().__init__()
        self.kind = kind
        self.size = size

    def execute(self, query: str) -> None:
        """Answer the only expected query."""
        assert query.startswith("SHOW GLOBAL VARIABLES"), query
        self.rows = () if self.kind is None else (("query_cache_type", self.kind), ("query_cache_size", self.size))

    def fetchall(self) -> Any:
        return self.rows

    def close(self) -> None:
        """Do nothing, because there is no connection."""


def given(target: Server, reads_to: Server | None = None) -> ReplayOptions:
    """Return options of a replay on simulated servers."""
    options: Any = {"target": target, "output": Path("x"), "reads_to": reads_to, "init": ("SET @a = 1",)}
    return ReplayOptions(**options)


OFF = "SET SESSION query_cache_type = OFF"


@pytest.mark.parametrize(
    ("kind", "size", "init"),
    [
        ("ON", "1", ("SET @a = 1", OFF)),
        ("DEMAND", "1", ("SET @a = 1", OFF)),
        ("ON", "0", ("SET @a = 1",)),
        ("OFF", "1", ("SET @a = 1",)),
        (None, "1", ("SET @a = 1",)),
    ],
)
def test_sessions_disable_query_cache_if_enabled(kind: str | None, size: str, init: tuple[str, ...]) -> None:
    """The statement that disables the query cache is the last of those that initialize a session."""
    assert without_query_cache(given(Server(kind, size))).init == init


@pytest.mark.parametrize(
    ("first", "second", "is_off"),
    [("ON", "OFF", True), ("OFF", "ON", True), ("OFF", "OFF", False), (None, None, False)],
)
def test_both_targets_use_the_same_session_statements(first: str | None, second: str | None, is_off: bool) -> None:
    assert (OFF in without_query_cache(given(Server(first), Server(second))).init) == is_off


@pytest.mark.parametrize("kinds", [("ON", None), (None, "ON")])
def test_option_needs_a_query_cache_on_both_servers(kinds: tuple[str | None, str | None]) -> None:
    """The error is raised before anything is sent to the servers."""
    with pytest.raises(TargetError, match=r"--no-query-cache: .* has no query cache, but the other server"):
        without_query_cache(given(Server(kinds[0]), Server(kinds[1])))

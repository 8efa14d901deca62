# SPDX-License-Identifier: Apache-2.0
"""A query cache is switched off for a run and set back, whatever happens in between."""

import json
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.common.errors import TargetError
from querytape.experiments.query_cache import FLUSH, KEEP, OFF, query_cache, set_back

from ..helpers.cursors import MadeTarget


class Server(MadeTarget):
    """A target that has a cache of this type, and keeps what changes it."""

    def __init__(self, kind: str | None, refuses: str = "", size: str = "1048576") -> None:
        super().__init__()
        self.kind = kind
        self.refuses = refuses
        self.size = size

    def execute(self, query: str) -> None:
        """Answer the question, or change the type; what it does not allow is an error."""
        if query.startswith("SHOW"):
            self.rows = () if self.kind is None else (("query_cache_type", self.kind), ("query_cache_size", self.size))
            return
        if self.refuses and self.refuses in query:
            raise pymysql.err.OperationalError(1227, "Access denied; you need SUPER")
        super().execute(query)
        if "=" in query:
            self.kind = query.rpartition(" ")[2]

    def fetchall(self) -> Any:
        """Return the rows."""
        return self.rows

    def close(self) -> None:
        """End."""


ON_AGAIN = ["SET GLOBAL query_cache_type = OFF", "SET GLOBAL query_cache_type = ON"]


@pytest.mark.parametrize(
    ("kind", "size", "mode", "said"),
    [
        ("ON", "1", OFF, ON_AGAIN),
        ("DEMAND", "1", OFF, [ON_AGAIN[0], "SET GLOBAL query_cache_type = DEMAND"]),
        ("ON", "0", OFF, []),
        ("OFF", "1", OFF, []),
        (None, "1", OFF, []),
        ("ON", "1", FLUSH, ["RESET QUERY CACHE"]),
        (None, "1", FLUSH, []),
        ("ON", "1", KEEP, []),
    ],
)
def test_what_is_changed(tmp_path: Path, kind: str | None, size: str, mode: str, said: list[str]) -> None:
    """Only what has to be; what is to be set back is in the file meanwhile, and each change is said."""
    server: Any = Server(kind, size=size)
    lines: list[str] = []
    kept = tmp_path / "a.query_cache.json"
    with query_cache(server, mode, kept, lines.append):
        assert kept.exists() == (len(said) == 2)
        if kept.exists():
            assert json.loads(kept.read_text()) == {"target": "db:3306", "query_cache_type": kind}
            assert server.kind == "OFF"
    assert server.asked == said
    assert server.kind == kind
    assert not kept.exists()
    assert len(lines) == (2 if len(said) == 2 else 0)


def test_an_error_in_between_sets_it_back(tmp_path: Path) -> None:
    """Whatever ends the run."""
    server: Any = Server("ON")
    with pytest.raises(KeyboardInterrupt), query_cache(server, OFF, tmp_path / "k", lambda text: None):
        raise KeyboardInterrupt
    assert server.asked == ON_AGAIN


def test_what_was_killed_is_set_back_later(tmp_path: Path) -> None:
    """The file of a killed comparison is enough; where it can't be set back, the file stays and the error has the words."""
    kept = tmp_path / "a.query_cache.json"
    set_back(Server("OFF"), kept, lambda text: None)  # type: ignore[arg-type]
    kept.write_text('{"query_cache_type": "DEMAND", "target": "db:3306"}')
    refusing: Any = Server("OFF", refuses="SET GLOBAL")
    with pytest.raises(TargetError, match=r"still off: .*1227.*do it by hand: SET GLOBAL query_cache_type = DEMAND"):
        set_back(refusing, kept, lambda text: None)
    assert kept.exists()
    server: Any = Server("OFF")
    set_back(server, kept, lambda text: None)
    assert server.kind == "DEMAND"
    assert not kept.exists()
    kept.write_text('{"query_cache_type": "DEMAND", "target": "other:3306"}')
    with pytest.raises(
        TargetError, match=r"other:3306: its query cache is still off; db:3306 is another server; do it by"
    ):
        set_back(server, kept, lambda text: None)
    for wrong in (
        "",
        "{}",
        "[]",
        '{"query_cache_type": "ON"}',
        '{"query_cache_type": "1; DROP TABLE t", "target": "db:3306"}',
    ):
        kept.write_text(wrong)
        with pytest.raises(TargetError, match="not what --query-cache off keeps"):
            set_back(server, kept, lambda text: None)


@pytest.mark.parametrize(("mode", "right"), [(OFF, "SUPER"), (FLUSH, "RELOAD")])
def test_a_missing_right_is_named(tmp_path: Path, mode: str, right: str) -> None:
    """Before anything is run."""
    server: Any = Server("ON", refuses="QUERY CACHE" if mode == FLUSH else "OFF")
    with (
        pytest.raises(TargetError, match=f"--query-cache {mode}: db:3306: 1227 .*it needs {right}"),
        query_cache(server, mode, tmp_path / "k", lambda text: None),
    ):
        raise AssertionError("it must not begin")

# SPDX-License-Identifier: Apache-2.0
"""Logs of the server_audit plugin: who sent what, what was cut, and Aurora's rows in no order."""

from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source
from querytape.common.errors import InputError

from tests.helpers.reading import Read, read_all

ROWS = """20261120 15:21:05,db1,app,web1,29,0,CONNECT,shop,,0
20261120 15:21:05,db1,app,web1,29,344,QUERY,shop,'SELECT \\'it\\'',0
20261120 15:21:06,db1,app,web1,29,345,QUERY,shop,'SELECT x FROM nowhere',1146
20261120 15:21:07,db1,app,web1,29,0,DISCONNECT,shop,,0
"""
AURORA = """1795188065000300,db1,app,web1,29,2,QUERY,shop,'SELECT 2',0
1795188065000100,db1,app,web1,29,1,QUERY,shop,'SELECT 1',0
"""


def read(tmp_path: Path, text: str, **extra: int) -> Read:
    """Return what is read of a log."""
    path = tmp_path / "audit.log"
    path.write_text(text)
    assert detect_source(str(path), SOURCES.values()).name == "audit"
    return read_all(SOURCES["audit"].open([str(path)], Settings(extra=extra)))


def test_rows(tmp_path: Path) -> None:
    """Connects, statements with their quotes taken off, error numbers."""
    log = read(tmp_path, ROWS)
    assert [(e["command"], e["statement"], e["errno"]) for e in log.events] == [
        ("connect", None, 0),
        ("query", b"SELECT 'it'", 0),
        ("query", b"SELECT x FROM nowhere", 1146),
        ("quit", None, 0),
    ]
    assert {(e["user"], e["host"], e["db"]) for e in log.events} == {("app", "web1", "shop")}


def test_aurora_is_sorted(tmp_path: Path) -> None:
    """Aurora's rows are in no order and have microseconds."""
    log = read(tmp_path, AURORA)
    assert [(e["statement"], e["start_ns"] % 1_000_000_000) for e in log.events] == [
        (b"SELECT 1", 100_000),
        (b"SELECT 2", 300_000),
    ]


def test_aurora_cannot_be_mixed(tmp_path: Path) -> None:
    """Logs of Aurora and of others have no common order."""
    (tmp_path / "a").write_text(ROWS)
    (tmp_path / "b").write_text(AURORA)
    with pytest.raises(InputError, match="mixed"):
        capture_source(SOURCES["audit"], [str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "t.tape", Settings())


def test_cut_statements_are_named(tmp_path: Path) -> None:
    """A statement as long as the server's limit was cut: the tape says how many there are."""
    path = tmp_path / "audit.log"
    path.write_text(f"20261120 15:21:05,db1,app,web1,29,344,QUERY,shop,'SELECT {'x' * 121}',0\n" + ROWS)
    settings = Settings(extra={"query_limit": 128})
    info = capture_source(SOURCES["audit"], [str(path)], tmp_path / "t.tape", settings)
    assert [warning["kind"] for warning in info["warnings"]] == ["cut"]

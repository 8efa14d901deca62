# SPDX-License-Identifier: Apache-2.0
"""Tools process a tape with events of 12 MB without loss."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.tools.derive import derive
from querytape.capture.tools.export import FORMATS, export
from querytape.capture.tools.pseudonymize import new_key, pseudonymize
from querytape.capture.tools.salvage import salvage
from querytape.schemas import EventFilter

from ...helpers.tape_tools import found

pytestmark = pytest.mark.slow

SIZES_MB = (12,) * 12
WORDS = b"INSERT INTO b VALUES (%d, 'some words of a value that is long ');"


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixture: a slow log's tape with large statements of two sessions and small statements between them."""
    folder = tmp_path_factory.mktemp("large")
    with (folder / "slow.log").open("wb") as log:
        for number, size in enumerate(SIZES_MB):
            for statement in (large(number, size), b"SELECT %d;" % number):
                log.write(b"# Time: 2026-01-01T00:00:%02d.000000Z\n" % number)
                log.write(b"# User@Host: u[u] @ h []  Id: %5d\n" % (number % 2 + 1))
                log.write(b"# Query_time: 0.100000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n")
                log.write(b"SET timestamp=1767225600;\n" + statement + b"\n")
    capture_source(SOURCES["slowlog"], [str(folder / "slow.log")], folder / "a.tape", Settings())
    return folder / "a.tape"


def large(number: int, size_mb: int) -> bytes:
    """Return a statement of `size_mb` MB."""
    head, tail = (WORDS % number).split(b" of a value that is long ")
    return head + b" \\n" * ((size_mb << 20) // 3) + tail


def texts(tape: Path) -> list[tuple[Any, ...]]:
    """Return the checksums of a tape's statement texts."""
    return found(tape, "SELECT md5(statement), octet_length(statement) FROM events ORDER BY start_ns, session, seq")


@pytest.mark.long
@pytest.mark.parametrize(
    "tool",
    [
        lambda tape, out: derive([tape], out, EventFilter(from_ns=0)),
        salvage,
    ],
    ids=["cut", "salvage"],
)
def test_cut_or_salvaged_tape_keeps_large_events(tape: Path, tool: Callable[[Path, Path], Any], tmp_path: Path) -> None:
    """Each large statement is unchanged, and tape.json contains the size of the largest event."""
    info = tool(tape, tmp_path / "b.tape")
    assert texts(tmp_path / "b.tape") == texts(tape)
    assert info["largest_event"] == max(size for _, size in texts(tape))


@pytest.mark.long
def test_tapes_with_large_events_are_merged(tape: Path, tmp_path: Path) -> None:
    """The merged tape has each statement twice."""
    derive([tape, tape], tmp_path / "b.tape", EventFilter())
    assert sorted(texts(tmp_path / "b.tape")) == sorted(2 * texts(tape))


@pytest.mark.long
def test_large_events_are_pseudonymized(tape: Path, tmp_path: Path) -> None:
    """Each statement is still on the tape, with a different text."""
    pseudonymize(tape, tmp_path / "b.tape", new_key())
    old, new = texts(tape), texts(tmp_path / "b.tape")
    assert len(old) == len(new) == 2 * len(SIZES_MB)
    assert not {text for text, size in old if size > 1 << 20} & {text for text, _ in new}


@pytest.mark.sampled
@pytest.mark.parametrize("format_", FORMATS)
def test_large_events_are_exported_in_each_format(tape: Path, format_: str, tmp_path: Path) -> None:
    """The exported file has each statement once, in the order of time. A CSV file has one header."""
    (tmp_path / "work").mkdir()
    out = io.BytesIO()
    assert export(tape, format_, out, tmp_path / "work") == 2 * len(SIZES_MB)
    text = out.getvalue()
    places = [text.find(b"INSERT INTO b VALUES (%d," % number) for number in range(len(SIZES_MB))]
    assert places == sorted(places)
    assert places[0] >= 0
    assert [text.count(b"SELECT %d" % number) for number in range(10, len(SIZES_MB))] == [1] * (len(SIZES_MB) - 10)
    assert text.count(b"start_utc") == {"csv": 1, "jsonl": 2 * len(SIZES_MB)}.get(format_, 0)

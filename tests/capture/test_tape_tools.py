# SPDX-License-Identifier: Apache-2.0
"""New tapes of old ones, and tapes that are damaged: what is kept is whole, what is wrong is named."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.capture import SOURCES, Settings, capture
from querytape.capture.tools.derive import Choice, derive
from querytape.capture.tools.salvage import salvage
from querytape.capture.tools.verify import verify
from querytape.errors import InputError
from querytape.schemas import write_json

from tests.tapes import make_tape as built_tape

from .dialogue import Dialogue, ok, rows, write_pcap


def make_tape(tmp_path: Path, name: str, connections: int = 3, offset: int = 0) -> Path:
    """Return a tape with so many sessions of nine events each."""
    dialogues = []
    for n in range(connections):
        dialogue = Dialogue(client_port=40000 + n).logged_in()
        for k in range(7):
            dialogue.ask(b"SELECT %d FROM t%d" % (offset + k, k % 2), rows([b"x"]) if k % 2 else ok(1))
        dialogues.append(dialogue.close())
    path = write_pcap(tmp_path / f"{name}.pcap", dialogues)
    capture(SOURCES["packets"], [str(path)], tmp_path / f"{name}.tape", Settings())
    return tmp_path / f"{name}.tape"


def found(tape: Path, what: str) -> list[tuple[Any, ...]]:
    """Return a query over a tape's events."""
    with duckdb.connect() as con:
        con.execute(f"CREATE VIEW events AS FROM '{tape}/events/*.parquet'")
        con.execute(f"CREATE VIEW sessions AS FROM '{tape}/sessions.parquet'")
        return con.execute(what).fetchall()


def damages(tape: Path, tmp_path: Path) -> list[str]:
    """Return what verify says."""
    (tmp_path / "work").mkdir(exist_ok=True)
    return [damage.what for damage in verify(tape, tmp_path / "work")]


def test_merging_numbers_sessions_on(tmp_path: Path) -> None:
    """All events of both tapes, sessions apart, with the ports that only the packets knew."""
    a, b = make_tape(tmp_path, "a"), make_tape(tmp_path, "b", connections=2, offset=100)
    info = derive([a, b], tmp_path / "m.tape", Choice())
    assert info["counts"] == {"events": 45, "sessions": 5, "digests": 2, "problems": 0}
    ports = found(tmp_path / "m.tape", "SELECT session, port FROM sessions ORDER BY session")
    assert ports == [(1, 40000), (2, 40001), (3, 40002), (4, 40000), (5, 40001)]
    assert info["warnings"] == []
    assert damages(tmp_path / "m.tape", tmp_path) == []


def test_cutting_keeps_a_window(tmp_path: Path) -> None:
    """What began inside; seq is numbered anew; a replay is told that it is a part."""
    tape = make_tape(tmp_path, "a")
    begin, end = found(tape, "SELECT quantile_disc(start_ns, 0.25), quantile_disc(start_ns, 0.75) FROM events")[0]
    info = derive([tape], tmp_path / "c.tape", Choice(from_ns=begin, to_ns=end))
    expected = found(tape, f"SELECT count(*) FROM events WHERE start_ns >= {begin} AND start_ns < {end}")[0][0]
    assert info["counts"]["events"] == expected
    assert [warning["kind"] for warning in info["warnings"]] == ["filtered"]
    assert damages(tmp_path / "c.tape", tmp_path) == []


def test_filtering_by_what_events_are(tmp_path: Path) -> None:
    """One digest of two; a session; an account that is not there."""
    tape = make_tape(tmp_path, "a")
    digest = found(tape, "SELECT digest FROM events WHERE statement::VARCHAR LIKE '%t1'")[0][0]
    info = derive([tape], tmp_path / "d.tape", Choice(digests=[digest]))
    assert info["counts"]["events"] == 9
    info = derive([tape], tmp_path / "s.tape", Choice(sessions=[2], classes=["read"]))
    assert info["counts"] == {"events": 7, "sessions": 1, "digests": 2, "problems": 0}
    assert damages(tmp_path / "s.tape", tmp_path) == []
    with pytest.raises(InputError, match="no event is left"):
        derive([tape], tmp_path / "x.tape", Choice(users=["nobody"]))
    assert not (tmp_path / "x.tape").exists()


def change(tape: Path, key: str, value: Any) -> None:
    """Change one thing in tape.json."""
    info = json.loads((tape / "tape.json").read_text())
    info[key] = value
    write_json(tape / "tape.json", info)


def test_damage_is_named(tmp_path: Path) -> None:
    """A missing part, a cut one, holes in a session, numbers that don't agree, a version from the future."""
    tape = make_tape(tmp_path, "a")
    part = tape / "events" / "part-00000.parquet"
    whole = part.read_bytes()
    assert damages(tape, tmp_path) == []
    part.write_bytes(whole[:-40])
    said = damages(tape, tmp_path)
    assert "bytes, tape.json says" in said[0]
    assert "can't be read" in said[1]
    part.unlink()
    assert damages(tape, tmp_path) == ["events/part-00000.parquet is missing: 27 events"]
    part.write_bytes(whole)
    with duckdb.connect() as con:
        con.execute(f"COPY (FROM '{part}' WHERE seq <> 4) TO '{tape}/holes' (FORMAT parquet)")
    (tape / "holes").rename(part)
    said = damages(tape, tmp_path)
    assert any("3 sessions whose events are not numbered" in text for text in said)
    assert any("24 events, tape.json says 27" in text for text in said)
    part.write_bytes(whole)
    change(tape, "format_version", 99)
    assert damages(tape, tmp_path) == ["format version 99; this querytape knows 1"]


def test_the_commands(tmp_path: Path) -> None:
    """verify exits with 0 or 1; cut takes times as people write them."""
    tape = make_tape(tmp_path, "a")
    command = [sys.executable, "-m", "querytape", "tape"]
    done = subprocess.run([*command, "verify", str(tape)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{tape}: whole\n")
    out = tmp_path / "c.tape"
    times = ["--from", "2024-06-10 06:13:20", "--to", "2024-06-10T06:13:20.002+00:00"]
    done = subprocess.run(
        [*command, "cut", str(tape), *times, "-o", str(out)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "only a part was kept" in done.stdout
    change(tape, "finished", False)
    done = subprocess.run([*command, "verify", str(tape)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "its capture did not end" in done.stdout


@pytest.mark.parametrize(
    "hurt", ["a part is cut", "a part is gone", "no tape.json", "no sessions", "bytes turned over"]
)
def test_what_is_whole_is_saved(tmp_path: Path, hurt: str) -> None:
    """A new tape of the parts that can be read, whole itself, which says what is lost."""
    tape = built_tape(
        tmp_path / "t.tape", [{"session": 1 + n % 3, "statement": f"SELECT {n}"} for n in range(90)], parts=3
    )
    part = sorted((tape / "events").iterdir())[1]
    content = part.read_bytes()
    if hurt == "a part is cut":
        part.write_bytes(content[:-40])
    elif hurt == "a part is gone":
        part.unlink()
    elif hurt == "no tape.json":
        (tape / "tape.json").write_text('{"format_ver')
    elif hurt == "no sessions":
        (tape / "sessions.parquet").write_bytes(b"PAR1")
    else:
        part.write_bytes(b"\xff" * len(content))
    command = [sys.executable, "-m", "querytape", "tape", "verify", str(tape), "--salvage", str(tmp_path / "s.tape")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lost = 0 if hurt.startswith("no ") else 30
    assert damages(tmp_path / "s.tape", tmp_path) == []
    assert found(tmp_path / "s.tape", "SELECT count(*), count(DISTINCT session) FROM events") == [(90 - lost, 3)]
    warning = json.loads((tmp_path / "s.tape" / "tape.json").read_text())["warnings"][0]
    assert warning["kind"] == "salvaged"
    assert ("part-00001.parquet" in warning["text"]) == (lost > 0)


def test_nothing_can_be_saved_of_nothing(tmp_path: Path) -> None:
    """Where no part can be read, that is said and no tape is written."""
    tape = make_tape(tmp_path, "a")
    for part in (tape / "events").iterdir():
        part.write_bytes(b"gone")
    with pytest.raises(InputError, match="nothing can be saved"):
        salvage(tape, tmp_path / "s.tape")
    assert not (tmp_path / "s.tape").exists()

# SPDX-License-Identifier: Apache-2.0
"""A set of tapes is read like one tape. The contents of set.json are checked."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.tools.deal import deal
from querytape.capture.tools.gather import gather
from querytape.common.duck import small_database
from querytape.common.errors import FolderError
from querytape.schemas import TABLES, columns, open_folder, tape_id
from querytape.schemas.tape_set import TapeSet

from tests.helpers.mixed import mixed_tape

pytestmark = pytest.mark.slow

ROWS = {"events": "session, seq", "sessions": "session", "digests": "digest", "problems": 'file, "offset"'}


def rows(path: Path, table: str, read: str | None = None) -> list[Any]:
    """Return all rows of a table in a fixed order."""
    tape = open_folder("tape", path)
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", table))
    with small_database() as con:
        return con.execute(f"SELECT {names} FROM {read or tape.source(table)} ORDER BY {ROWS[table]}").fetchall()


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """A fixture: a tape of many sessions."""
    return mixed_tape(tmp_path / "a.tape", 40, 900)


@pytest.mark.sampled
@pytest.mark.parametrize("table", TABLES["tape"])
@pytest.mark.parametrize("count", [2, 7])
def test_dealt_set_equals_the_tape(table: str, count: int, tape: Path, tmp_path: Path) -> None:
    """Every row of every table in the dealt set equals a row of the tape. The set has the same tape id."""
    deal(tape, count, tmp_path / "a.set")
    assert rows(tmp_path / "a.set", table) == rows(tape, table)
    whole, dealt = open_folder("tape", tape), open_folder("tape", tmp_path / "a.set")
    assert tape_id(dealt.info) == tape_id(whole.info)
    own = {"parts", "tables", "tapes", "set_of"}
    assert {k: v for k, v in dealt.info.items() if k not in own} == {
        k: v for k, v in whole.info.items() if k not in own
    }


def test_gathered_captures_are_numbered_consecutively(tmp_path: Path) -> None:
    """In `source` and `events_of`, the session and file numbers of a tape begin after those of the previous tape."""
    folder = tmp_path / "all.set"
    folder.mkdir()
    for name, sessions in (("b.tape", 3), ("a.tape", 5)):
        mixed_tape(folder / name, sessions, 20 * sessions)
    gather(folder)
    opened = open_folder("tape", folder)
    assert isinstance(opened, TapeSet)
    first, second = (rows(folder / name, "events") for name in ("a.tape", "b.tape"))
    expected = [*first, *((row[0] + 5, *row[1:]) for row in second)]
    place = [name for name, _ in columns("tape", "events")].index("file")
    moved = [(*row[:place], row[place] + (row[0] > 5), *row[place + 1 :]) for row in expected]
    assert rows(folder, "events") == moved
    files = [str(file) for file in opened.files("events")]
    assert rows(folder, "events", opened.events_of(files)) == moved
    assert rows(folder, "events", opened.events_of(files[-1:])) == [row for row in moved if row[0] > 5]
    assert [row[0] for row in rows(folder, "sessions")] == list(range(1, 9))
    assert opened.info["counts"]["sessions"] == 8
    assert tape_id(opened.info) not in {
        tape_id(open_folder("tape", folder / name).info) for name in ("a.tape", "b.tape")
    }


def double(folder: Path) -> None:
    """List one tape of the set twice."""
    shutil.rmtree(folder / "02.tape")
    shutil.copytree(folder / "01.tape", folder / "02.tape")
    change(folder, lambda info: info["tapes"][1].update(id=info["tapes"][0]["id"]))
    change(folder, lambda info: info["tape"]["counts"].update(counts_of(folder)))


def spoil(file: Path) -> None:
    """Invert the bytes of the rows in a file. The size and the footer stay the same."""
    written = bytearray(file.read_bytes())
    for place in range(4, len(written) // 3):
        written[place] ^= 0xFF
    file.write_bytes(written)


def counts_of(folder: Path) -> dict[str, int]:
    """Return the sums of the counts of all tapes."""
    infos = [json.loads((folder / name / "tape.json").read_text()) for name in ("01.tape", "02.tape")]
    return {what: sum(info["counts"][what] for info in infos) for what in ("events", "sessions")}


def change(folder: Path, how: Callable[[dict[str, Any]], Any]) -> None:
    """Change set.json."""
    info = json.loads((folder / "set.json").read_text())
    how(info)
    (folder / "set.json").write_text(json.dumps(info))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: shutil.rmtree(folder / "02.tape"), "no such tape"),
        (lambda folder: (folder / "digests.parquet").unlink(), "digests.parquet"),
        (lambda folder: (folder / "digests.parquet").write_bytes(b"PAR1"), "digests.parquet"),
        (double, "is on two tapes of the set"),
        (
            lambda folder: change(folder, lambda info: info["tapes"][0].update(id="other")),
            "`querytape tape deal` again",
        ),
        (
            lambda folder: change(folder, lambda info: info["tapes"][0].update(folder="../01.tape")),
            "not a valid folder name",
        ),
        (lambda folder: change(folder, lambda info: info["tapes"][0].update(folder="")), "not a valid folder name"),
        (lambda folder: change(folder, lambda info: info.pop("digests")), "digests: missing"),
        (lambda folder: change(folder, lambda info: info.update(digests=[])), "digests"),
        (lambda folder: change(folder, lambda info: info.update(tapes=[])), "tapes"),
        (lambda folder: change(folder, lambda info: info.pop("tapes")), "tapes: missing"),
        (lambda folder: change(folder, lambda info: info.update(tape=None)), "tape"),
        (lambda folder: change(folder, lambda info: info.update(dealt_from=5)), "dealt_from"),
        (lambda folder: change(folder, lambda info: info.update(finished=False)), "not finished"),
        (lambda folder: change(folder, lambda info: info["tape"].update(first_ns="x")), "first_ns"),
        (
            lambda folder: change(folder, lambda info: info["tape"]["counts"].update(events=1)),
            "event, but its tapes contain",
        ),
        (lambda folder: change(folder, lambda info: info["tape"]["counts"].update(digests=1)), "digests"),
        (lambda folder: change(folder, lambda info: info.update(format_version=99)), "install a newer"),
        (lambda folder: (folder / "set.json").write_text("[1]"), "invalid JSON for a set"),
        (lambda folder: spoil(folder / "02.tape" / "sessions.parquet"), "damaged or unreadable"),
        (lambda folder: (folder / "01.tape" / "set.json").write_text("{}"), "a set inside a set"),
    ],
)
def test_damaged_set_is_refused(damage: Callable[[Path], Any], said: str, tape: Path, tmp_path: Path) -> None:
    """The set is damaged or forged. The message names the damaged place."""
    folder = tmp_path / "a.set"
    deal(tape, 2, folder)
    damage(folder)
    with pytest.raises(FolderError) as refused:
        open_folder("tape", folder)
    assert said in str(refused.value)
    assert str(folder) in str(refused.value)


def test_gathered_set_can_be_dealt(tmp_path: Path) -> None:
    """Captures of two servers are dealt to three tapes. Sessions are numbered as in the gathered set."""
    folder = tmp_path / "all.set"
    folder.mkdir()
    for name in ("a.tape", "b.tape"):
        mixed_tape(folder / name, 6, 100)
    gather(folder)
    deal(folder, 3, tmp_path / "dealt.set")
    for table in TABLES["tape"]:
        assert rows(tmp_path / "dealt.set", table) == rows(folder, table)
    assert tape_id(open_folder("tape", tmp_path / "dealt.set").info) == tape_id(open_folder("tape", folder).info)


def test_set_is_refused_as_a_run(tape: Path, tmp_path: Path) -> None:
    """A set that is given in place of a run is refused. The message explains that the folder is a set."""
    deal(tape, 2, tmp_path / "a.set")
    with pytest.raises(FolderError, match="is not a run: the folder is a set"):
        open_folder("run", tmp_path / "a.set")

# SPDX-License-Identifier: Apache-2.0
"""Many files become the tapes of a set. The order, repetition and failure of the steps change nothing."""

import pickle
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from querytape.capture import Settings, capture
from querytape.capture.tools.gather import gather
from querytape.capture.tools.many import FileStep, Step, capture_many
from querytape.common.errors import InputError
from querytape.schemas import open_folder

from tests.helpers.duck import database
from tests.helpers.logs import write_mariadb

FILES = 5


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    """Slow logs of several servers."""
    return [
        str(
            write_mariadb(
                tmp_path / f"web{number}.log",
                [(1_790_000_000 + n, 1 + n % 3, 0.001, f"SELECT {n}, {number}") for n in range(20 + number)],
            )
        )
        for number in range(FILES)
    ]


def rows(folder: Path) -> list[object]:
    """Return all events of a tape or set."""
    with database() as con:
        return con.execute(f"SELECT * FROM {open_folder('tape', folder).source('events')} ORDER BY ALL").fetchall()


def test_set_equals_separate_captures(logs: list[str], tmp_path: Path) -> None:
    """The steps run in random order, some of them twice. A killed attempt leaves a folder."""
    rng = random.Random(5)

    def run(steps: Sequence[Step]) -> list[Path]:
        found: dict[int, Path] = {}
        order = [*range(len(steps)), 1, 3]
        rng.shuffle(order)
        for number in order:
            found[number] = pickle.loads(pickle.dumps(steps[number]))()
        found[0].with_name("01.tape.7.ab.tmp").mkdir()
        return [found[number] for number in range(len(steps))]

    many = capture_many("slowlog", logs, tmp_path / "all.set", Settings(), run)
    assert many.without == []
    assert many.info["counts"]["events"] == sum(20 + number for number in range(FILES))
    (tmp_path / "own").mkdir()
    for number, log in enumerate(logs, 1):
        capture([log], tmp_path / "own" / f"{number:02d}.tape", "slowlog")
    gather(tmp_path / "own")
    assert rows(tmp_path / "all.set") == rows(tmp_path / "own")
    names = {path.name for path in (tmp_path / "all.set").iterdir()}
    assert names == {*(f"{number:02d}.tape" for number in range(1, FILES + 1)), "set.json", "digests.parquet"}


def test_files_without_events_are_listed(logs: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "other.log").write_text("no log\n" * 100)
    given = [str(tmp_path / "empty.log"), *logs[:2], str(tmp_path / "other.log")]
    many = capture_many("slowlog", given, tmp_path / "all.set", Settings())
    assert [reason.partition(":")[0] for reason in many.without] == [given[3]]
    assert many.empty == [given[0]]
    assert many.info["counts"]["events"] == 20 + 21
    open_folder("tape", tmp_path / "all.set")
    with pytest.raises(InputError, match=r"empty\.log: the file is empty"):
        capture_many("slowlog", given[:1], tmp_path / "none.set", Settings())
    assert not (tmp_path / "none.set").exists()


def test_nothing_remains_after_a_failure(logs: list[str], tmp_path: Path) -> None:
    """A missing file is reported before the first step. A failed step removes the set."""
    with pytest.raises(InputError, match="nowhere"):
        capture_many("slowlog", [*logs, str(tmp_path / "nowhere.log")], tmp_path / "all.set", Settings())
    assert not (tmp_path / "all.set").exists()

    def run(steps: Sequence[Step]) -> list[Path]:
        steps[0]()
        raise InputError("a node has another release")

    with pytest.raises(InputError, match="another release"):
        capture_many("slowlog", logs, tmp_path / "all.set", Settings(), run)
    assert not (tmp_path / "all.set").exists()
    (tmp_path / "there.set").mkdir()
    with pytest.raises(InputError, match=r"there\.set"):
        capture_many("slowlog", logs, tmp_path / "there.set", Settings())


def test_finished_step_is_not_repeated(logs: list[str], tmp_path: Path) -> None:
    step = FileStep("slowlog", logs[0], tmp_path / "01.tape")
    assert step() == tmp_path / "01.tape"
    before = (tmp_path / "01.tape" / "tape.json").stat().st_mtime_ns
    assert step() == tmp_path / "01.tape"
    assert (tmp_path / "01.tape" / "tape.json").stat().st_mtime_ns == before

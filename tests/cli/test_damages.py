# SPDX-License-Identifier: Apache-2.0
"""Damaged and forged tapes and runs: every command ends with a sentence and a known exit code, at once.

A sample here; `make fuzz` walks all (QT_DAMAGES=500).
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.cli.main import main
from querytape.native.bindings.null_server import NullServer

from tests.helpers.damages import damage
from tests.helpers.reports import small_runs

DAMAGES = int(os.environ.get("QT_DAMAGES", "36"))
EVERY = "QT_DAMAGES" in os.environ
MOST_S = 60
RAW = re.compile(
    r"Traceback|(Binder|Catalog|Conversion|Invalid Input|INTERNAL|IO|Out of Range|Parser|Fatal) Error|read_parquet|/proc/self"
)
TAPE_COMMANDS = (
    "inspect {tape}",
    "inspect {tape} --json",
    "inspect {tape} --problems",
    "inspect {whole} --against {tape}",
    "sql {tape} -c FROM_events",
    "report {tape} {run} {run2}",
    "report {tape} {run} --json -",
    "tape verify {tape}",
    "tape verify {tape} --salvage {new}",
    "tape merge {tape} {whole} -o {new}",
    "tape cut {tape} --from 2020-01-01 -o {new}",
    "tape filter {tape} --class read -o {new}",
    "tape pseudonymize {tape} -o {new}",
    "export {tape} --format slowlog -o {new}",
    "export {tape} --format jsonl -o {new}",
    "replay {tape} --target {url} --pace none -o {new}",
    "replay {tape} --target {url} --pace none --allow-writes --target-is-disposable --order commit -o {new}",
    "sweep {tape} --target {url} --sessions 1 --each 1s -o {new}",
)
RUN_COMMANDS = (
    "report {whole} {run} {run2}",
    "report {whole} {run2} {run} --json -",
    "report {whole} {run} --markdown -",
    "sql {run} -c FROM_outcomes",
    "speed {run} 2",
    "replay {whole} --target {url} --resume {run} -o {new}",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A tape and two runs of it that nothing is wrong with."""
    return small_runs(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server that answers at once."""
    with NullServer() as server:
        yield f"mysql://app@127.0.0.1:{server.port}/shop"


def command_line(text: str, names: dict[str, str]) -> list[str]:
    """Return the arguments of a command; FROM_x is a statement."""
    return [word.replace("FROM_", "FROM ").format(**names) for word in text.split()]


def ended(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line as the program does, and return its exit code."""
    monkeypatch.setattr("sys.argv", ["querytape", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    return int(ending.value.code or 0)


@pytest.mark.parametrize("number", range(DAMAGES))
def test_every_command_has_a_sentence(
    number: int,
    whole: tuple[Path, Path, Path],
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """No traceback, no text of DuckDB's, no waiting: what a command cannot do it says, with exit code 1."""
    kind = "run" if number % 3 == 2 else "tape"
    commands = RUN_COMMANDS if kind == "run" else TAPE_COMMANDS
    tape, run, run2 = whole
    hurt = tmp_path / f"hurt.{kind}"
    shutil.copytree(tape if kind == "tape" else run, hurt)
    done = damage(hurt, kind, number)
    picked = commands if EVERY else [commands[(number // 3 + step) % len(commands)] for step in (0, 5, 11)]
    for text in picked:
        copy = tmp_path / f"copy.{kind}"
        shutil.copytree(hurt, copy, symlinks=True, copy_function=_copy)
        names = {"whole": tape, "tape": tape, "run": run, "run2": run2, kind: copy, "new": tmp_path / "new"}
        start = time.monotonic()
        code = ended(command_line(text, {"url": url, **{key: str(value) for key, value in names.items()}}), monkeypatch)
        out, err = capfd.readouterr()
        assert code in (0, 1), (done, text, code, err)
        assert not RAW.search(out + err), (done, text, out[-500:], err)
        assert code == 0 or out.strip() or err.strip(), (done, text)
        assert time.monotonic() - start < MOST_S, (done, text)
        shutil.rmtree(copy)
        new = tmp_path / "new"
        if new.is_dir():
            shutil.rmtree(new)
        else:
            new.unlink(missing_ok=True)


def _copy(source: str, target: str) -> None:
    """Copy a file; a pipe becomes a pipe."""
    if Path(source).is_fifo():
        os.mkfifo(target)
    else:
        shutil.copy2(source, target)

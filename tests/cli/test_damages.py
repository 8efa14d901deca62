# SPDX-License-Identifier: Apache-2.0
"""Damaged and forged tapes and runs. Every command ends soon, with a plain message and a known exit code. The normal
test run takes a sample of the cases. `make fuzz` tries all commands. QT_DAMAGES=500 sets the number of cases, and
QT_DAMAGES_FROM=10000 selects cases that earlier runs did not try.
"""

import os
import random
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.capture.tools.gather import gather
from querytape.cli.main import group
from querytape.experiments.compare_plan import ComparePlan
from querytape.native.bindings.null_server import NullServer

from tests.helpers.command_line import RAW, commands_of, run_here
from tests.helpers.damages import damage, damage_bytes
from tests.helpers.reports import small_runs

pytestmark = pytest.mark.slow

DAMAGES = int(os.environ.get("QT_DAMAGES", "36"))
EVERY = "QT_DAMAGES" in os.environ
FIRST = int(os.environ.get("QT_DAMAGES_FROM", "0"))
MOST_S = 60
TAPE_COMMANDS = (
    "inspect {tape}",
    "inspect {tape} --json",
    "inspect {tape} --facts",
    "inspect {tape} --problems",
    "inspect {whole} --against {tape}",
    "sql {tape} -c FROM_events",
    "report {tape} {run} {run2}",
    "report {tape} {run} --json -",
    "tape verify {tape}",
    "tape copy {tape} {new}",
    "tape verify {tape} --salvage {new}",
    "tape merge {tape} {whole} -o {new}",
    "tape cut {tape} --from 2020-01-01 -o {new}",
    "tape deal {tape} 2 -o {new}",
    "tape set {folder}",
    "tape verify {set}",
    "inspect {set}",
    "replay {set} --target {url} --pace none -o {new}",
    "tape filter {tape} --class read -o {new}",
    "tape pseudonymize {tape} -o {new}",
    "export {tape} --format slowlog -o {new}",
    "export {tape} --format jsonl -o {new}",
    "replay {tape} --target {url} --pace none -o {new}",
    "replay {tape} --target {url} --pace none --allow-writes --target-is-disposable --order commit -o {new}",
    "sweep {tape} --target {url} --sessions 1 --each 100ms -o {new}",
    "lint {tape} --to mysql-8.4",
    "plans {tape} --target a={url} --target b={url} -o {new}",
    "compare {tape} --target a={url} --target b={url} --rounds 1 --pause 0s -o {new} -- --pace none",
    "compare {tape} --target a={url} --target b={url} --quick --within 1s -o {new}",
    "try {tape} --target sandbox?data=/ --ddl DROP_TABLE_t -o {new}",
)
RUN_COMMANDS = (
    "report {whole} {run} {run2}",
    "report {whole} {run2} {run} --json -",
    "report {whole} {run} --markdown -",
    "sql {run} -c FROM_outcomes",
    "speed {run} 2",
    "replay {whole} --target {url} --resume {run} -o {new}",
    "report {comparison}",
    "compare -o {comparison} --add 1",
)
# Commands that open neither tapes nor runs, and the input that each of them reads.
OTHERS = {
    "calibrate": "two tables of a tape, which inspect reads as well; replays read its result: test_damaged_calibration_does_not_break_a_replay",
    "capture": "logs and packets: tests/fuzz, tests/capture",
    "collect": "a run and its parts: tests/replay/drivers/test_collect.py",
    "completion": "nothing",
    "demo": "nothing",
    "driver": "a tape that the lead selects: replay reads it, and tests/replay/drivers/test_joined.py tests refused drivers",
    "fingerprint": "statements",
    "fleet": "the tapes of a plan, each of which is then replayed as by replay: tests/cli/test_fleet_plan.py",
    "null-server": "nothing",
    "serve": "tapes and runs: test_damaged_entries_have_a_page_or_an_error_message of tests/serve/test_views.py",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Make an undamaged tape and two runs of this tape."""
    return small_runs(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Start a server that answers at once."""
    with NullServer() as server:
        yield f"mysql://app@127.0.0.1:{server.port}/shop"


def command_line(text: str, names: dict[str, str]) -> list[str]:
    """Return the arguments of a command. FROM_x and DROP_TABLE_t are placeholders for SQL statements."""
    statements = {"DROP_TABLE_t": "DROP TABLE t"}
    return [statements.get(word, word.replace("FROM_", "FROM ")).format(**names) for word in text.split()]


def test_every_command_that_opens_tapes_or_runs_is_tested() -> None:
    walked = {" ".join(text.split()[: 2 if text.startswith("tape ") else 1]) for text in TAPE_COMMANDS + RUN_COMMANDS}
    assert set(commands_of(group, ("capture",))) == walked | set(OTHERS)


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(FIRST, FIRST + DAMAGES))
def test_damaged_input_gives_a_plain_message(
    number: int,
    whole: tuple[Path, Path, Path],
    url: str,
    tmp_path: Path,
) -> None:
    """The output contains no traceback and no message of DuckDB. The exit code is 0 or 1."""
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
        if "{folder}" in text or "{set}" in text:
            names["folder"] = names["set"] = tapes(tmp_path / "folder", tape, copy, made="{set}" in text)
        if "{comparison}" in text:
            names["comparison"] = comparison(tmp_path / "comparison", tape, copy, run2, url)
        start = time.monotonic()
        ended = run_here(*command_line(text, {"url": url, **{key: str(value) for key, value in names.items()}}))
        code, out, err = ended.code, ended.out, ended.err
        assert code in (0, 1), (done, text, code, err)
        assert not RAW.search(out + err), (done, text, out[-500:], err)
        assert code == 0 or out.strip() or err.strip(), (done, text)
        assert time.monotonic() - start < MOST_S, (done, text)
        shutil.rmtree(copy)
        shutil.rmtree(tmp_path / "comparison", ignore_errors=True)
        shutil.rmtree(tmp_path / "folder", ignore_errors=True)
        new = tmp_path / "new"
        if new.is_dir():
            shutil.rmtree(new)
        else:
            new.unlink(missing_ok=True)


def tapes(folder: Path, tape: Path, hurt: Path, made: bool) -> Path:
    """Return a folder of two tapes. The second tape is damaged. If `made`, a set was made from the folder before the
    damage.
    """
    folder.mkdir()
    for name in ("1.tape", "2.tape"):
        shutil.copytree(tape, folder / name)
    if made:
        gather(folder)
    shutil.rmtree(folder / "2.tape")
    shutil.copytree(hurt, folder / "2.tape", symlinks=True, copy_function=_copy)
    return folder


def comparison(folder: Path, tape: Path, a: Path, b: Path, url: str) -> Path:
    """Return the folder of a comparison with one round. The run of side A is damaged."""
    folder.mkdir()
    ComparePlan(tape, {"a": url, "b": url}, 1, pause_ns=0, replay=("--pace", "none")).write(folder / "plan.toml")
    shutil.copytree(a, folder / "a1.run", symlinks=True, copy_function=_copy)
    shutil.copytree(b, folder / "b1.run")
    return folder


@pytest.mark.parametrize("number", range(FIRST, FIRST + DAMAGES // 6))
def test_damaged_plan_is_accepted_or_refused_without_a_crash(
    number: int, whole: tuple[Path, Path, Path], url: str, tmp_path: Path
) -> None:
    folder = comparison(tmp_path / "comparison", *whole, url)
    done = damage_bytes(folder / "plan.toml", random.Random(number))
    for text in ("report {comparison}", "compare -o {comparison}"):
        ended = run_here(*command_line(text, {"comparison": str(folder)}))
        assert ended.code in (0, 1, 2), (done, text, ended)
        assert not RAW.search(ended.out + ended.err), (done, text, ended)


CALIBRATIONS = ("", "{", "[]", '{"machine": "HOST"}', '{"machine": "HOST", "levels": 7}', *(
    f'{{"machine": "HOST", "levels": [{level}]}}'
    for level in ("null", "7", "{}", '{"pace": "none", "queries_per_second": "x"}',
                  '{"pace": 1, "queries_per_second": 1e999}', '{"pace": "schedule", "queries_per_second": 1}',
                  '{"pace": "schedule", "queries_per_second": 1, "late_p99_ns": []}')
))  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("text", CALIBRATIONS)
def test_damaged_calibration_does_not_break_a_replay(
    text: str, whole: tuple[Path, Path, Path], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calibration file may have any content. The replay still prints its accounting."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "querytape").mkdir()
    (tmp_path / "querytape" / "calibration.json").write_text(text.replace("HOST", socket.gethostname()))
    ended = run_here("replay", str(whole[0]), "--target", url, "--pace", "none", "-o", str(tmp_path / "new.run"))
    assert ended.code in (0, 1)
    assert not RAW.search(ended.out + ended.err), ended


def _copy(source: str, target: str) -> None:
    """Copy a file. Recreate a named pipe instead of reading it."""
    if Path(source).is_fifo():
        os.mkfifo(target)
    else:
        shutil.copy2(source, target)

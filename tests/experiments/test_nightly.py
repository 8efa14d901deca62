# SPDX-License-Identifier: Apache-2.0
"""The folder of nightly comparisons. Nights are named by date and old nights are removed. A failed night never removes
other nights.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from querytape.cli.commands.compare import compare_command
from querytape.common.errors import InputError, QuerytapeError
from querytape.experiments.compare_plan import PLAN_FILE
from querytape.experiments.nightly import NIGHT_FILE, finish_night, is_good, nights, one_night, prune
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape

NOW = datetime(2026, 11, 22, 2, 0, tzinfo=UTC)


def night_of(folder: Path, name: str, good: bool = True) -> Path:
    night = folder / name
    (night / "a1.run").mkdir(parents=True)
    (night / PLAN_FILE).touch()
    if good:
        finish_night(night, 0)
    return night


def test_nights_are_named_by_date(tmp_path: Path) -> None:
    """A second night in the same minute gets a number and sorts after the first."""
    folder = tmp_path / "nights"
    for wanted in ("2026-11-22T0200", "2026-11-22T0200-2", "2026-11-22T0200-3"):
        with one_night(folder, NOW) as path:
            assert path == folder / wanted
            night_of(folder, path.name)
    night_of(folder, "2026-11-22T0200-10")
    assert [path.name[15:] for path in nights(folder)] == ["", "-2", "-3", "-10"]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_second_concurrent_night_is_refused(tmp_path: Path) -> None:
    with one_night(tmp_path), pytest.raises(InputError, match="still running"), one_night(tmp_path):
        pass
    with one_night(tmp_path):
        pass


def test_prune_keeps_the_newest_good_nights(tmp_path: Path) -> None:
    """Failed nights do not count towards the limit. Nights older than the oldest kept night are removed."""
    names = [f"2026-11-{day:02}T0200" for day in range(1, 9)]
    for number, name in enumerate(names):
        night_of(tmp_path, name, good=number not in (0, 4, 6))
    (tmp_path / "2026-01-01T0200").mkdir()  # not a comparison
    (tmp_path / "2026-01-02T0200").symlink_to(tmp_path / names[1])
    (tmp_path / "notes").mkdir()
    assert prune(tmp_path, 6) == []
    assert [path.name for path in prune(tmp_path, 3)] == names[:3]
    assert [path.name for path in nights(tmp_path)] == names[3:]
    assert sum(map(is_good, nights(tmp_path))) == 3
    assert {path.name for path in tmp_path.iterdir()} >= {"2026-01-01T0200", "2026-01-02T0200", "notes"}


def night(server: Server, tape: Path, folder: Path, *more: str) -> Result:
    """Run a nightly comparison with one server as both sides."""
    targets = [word for side in "ab" for word in ("--target", f"{side}={server.url('shop')}")]
    command = [str(tape), *targets, "--nightly", str(folder), "--keep", "2", "--rounds", "1", "--pause", "0s", *more]
    command += ["--", "--pace", "none", "--sample", "0s", "--no-query-plans", "--no-schema-facts"]
    return CliRunner().invoke(compare_command, command, standalone_mode=False)


@pytest.mark.server
def test_nightly_comparison_on_a_server(shop: Server, tmp_path: Path) -> None:
    """A gate sets the exit code, but the night still counts as good. A failed night keeps its folder and removes
    nothing.
    """
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}", "db": "shop"} for n in range(5)])
    folder = tmp_path / "nights"
    assert night(shop, tape, folder).return_value == 0
    assert night(shop, tape, folder, "--fail-on", "slower >= 0").return_value == 3
    two = nights(folder)
    assert [is_good(path) for path in two] == [True, True]
    assert all((path / name).is_file() for path in two for name in ("report.html", "report.json", NIGHT_FILE))
    for _ in range(3):
        failed = night(shop, tape, folder, "--reset", "false")
        assert isinstance(failed.exception, QuerytapeError)
    assert [is_good(path) for path in nights(folder)] == [True, True, False, False, False]
    third = night(shop, tape, folder)
    assert third.return_value == 0
    assert f"removed {two[0]}" in third.output
    assert [is_good(path) for path in nights(folder)] == [True, False, False, False, True]

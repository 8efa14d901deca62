# SPDX-License-Identifier: Apache-2.0
"""Commands that are killed at random moments. Their results are readable, with a correct status and a balanced
accounting. The normal test run takes a sample of the cases. `make fuzz` kills every command 200 times
(`tests/fuzz/kills.py`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.cli.main import group

from tests.helpers.command_line import commands_of
from tests.helpers.forked_commands import ForkServer
from tests.helpers.kills import Victim, duration_of, kill_once
from tests.helpers.victims import NEEDS_SERVER, victims

pytestmark = pytest.mark.long

SEED = 12
KILLS = 2
NAMES = (
    *("capture-slowlog", "capture-packets", "tape-merge", "tape-pseudonymize", "report-html", "replay"),
    *("compare", "sweep", "inspect", "sql", "speed", "capture-csv", "capture-follow", "replay-follow", "null-server"),
    "serve",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Victim]]:
    """Prepare a call of every command that needs no real server."""
    with victims(tmp_path_factory.mktemp("inputs"), server=False) as made:
        yield made


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    """Start a process that forks commands, so that each command starts without new imports."""
    made = ForkServer()
    yield made
    made.close()


def test_every_command_is_covered_by_a_kill_test(found: dict[str, Victim]) -> None:
    """The commands in NEEDS_SERVER need a real server. `make fuzz` kills them."""
    killed = {victim.arguments[0] for victim in found.values()}
    killed |= {" ".join(victim.arguments[:2]) for victim in found.values()}
    killed |= {name.replace("capture-", "capture ") for name in NEEDS_SERVER}
    # tests/replay/drivers kills drivers, lead processes and fleets. No test kills collect yet.
    killed |= {"driver", "fleet", "collect"}
    assert not set(commands_of(group)) - killed


@pytest.mark.parametrize("name", NAMES)
def test_killed_command_leaves_valid_results(
    name: str, found: dict[str, Victim], fork_server: ForkServer, tmp_path: Path
) -> None:
    """Each command first runs without a kill. In the second run, one or two signals end it at random moments."""
    took = duration_of(found[name], tmp_path / "work", fork_server)
    for number in range(KILLS):
        _, wrong = kill_once(name, found[name], tmp_path / "work", number, SEED, took, fork_server)
        assert wrong is None, str(wrong)
    if name == NAMES[0]:  # kill one command during its imports as well
        _, wrong = kill_once(name, found[name], tmp_path / "work", KILLS, SEED, took, None)
        assert wrong is None, str(wrong)

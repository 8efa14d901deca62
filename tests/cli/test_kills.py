# SPDX-License-Identifier: Apache-2.0
"""Commands that are killed at random moments leave what opens, says what it is, and balances.

A sample here; `make fuzz` kills every command two hundred times (tests/fuzz/kills.py).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.kills import Victim, kill_once, lasts
from tests.helpers.victims import victims
from tests.helpers.zygote import Zygote

SEED = 12
KILLS = 2
NAMES = (
    *("capture-slowlog", "capture-packets", "tape-merge", "tape-pseudonymize", "report-html", "replay"),
    *("compare", "sweep"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Victim]]:
    """Every command that needs no real server."""
    with victims(tmp_path_factory.mktemp("inputs"), server=False) as made:
        yield made


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """Starts commands without loading them anew."""
    made = Zygote()
    yield made
    made.close()


@pytest.mark.parametrize("name", NAMES)
def test_killed(name: str, found: dict[str, Victim], zygote: Zygote, tmp_path: Path) -> None:
    """Undisturbed it ends well; killed with one signal or two, nothing is wrong with what is left."""
    took = lasts(found[name], tmp_path / "work", zygote)
    for number in range(KILLS):
        _, wrong = kill_once(name, found[name], tmp_path / "work", number, SEED, took, zygote)
        assert wrong is None, str(wrong)
    if name == NAMES[0]:  # killed while it is loaded, too
        _, wrong = kill_once(name, found[name], tmp_path / "work", KILLS, SEED, took, None)
        assert wrong is None, str(wrong)

# SPDX-License-Identifier: Apache-2.0
"""Other programs beside real servers: equal ones are not called slower or faster, and a slower one is still found."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build
from querytape.bench.neighbours import busy_loops, called, compare, equal_servers, run_once, write_tape
from querytape.servers.sandbox import Server

from tests.helpers.chance import repeated

pytestmark = pytest.mark.long

REPEATS, TOLERATED = 3, 1  # comparisons, and how many of them what else the machine does may spoil


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Server]]:
    with equal_servers() as made:
        yield made


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds of four kinds of reads and a write."""
    return write_tape(tmp_path_factory.mktemp("tape"), 3)


def test_a_load_beside_one_side(servers: list[Server], tape: Path, tmp_path: Path) -> None:
    """Four busy loops beside one of two equal servers make nothing slower or faster (`make neighbours` tries loads that change).

    One of a hundred verdicts may be false, and there are ten here: the same one is not false twice.
    """

    def falsely(name: str) -> set[tuple[str, str, str]]:
        a = run_once(tape, servers[0], tmp_path / f"a{name}.run")
        with busy_loops(4):
            b = run_once(tape, servers[1], tmp_path / f"b{name}.run")
        ways = {"ab": called(build(tape, [a], [b])), "ba": called(build(tape, [b], [a]))}
        return {(way, *pair) for way, found in ways.items() for pair in found.items()}

    if first := falsely("1"):
        assert first & falsely("2") == set()


def test_what_is_slower_by_itself_is_found(servers: list[Server], tape: Path, tmp_path: Path) -> None:
    """A lost index beside a load on both sides; where the machine is full of others, the report says so.

    The last test here: the index stays lost.
    """
    servers[1].execute("ALTER TABLE shop.t DROP KEY customer")

    def once(name: str) -> Report:
        folder = tmp_path / name
        folder.mkdir()
        with busy_loops(1):
            return compare(tape, servers, folder, 1)

    reports: list[Any] = []

    def keep(number: int) -> Any:
        reports.append(once(str(number)))
        return reports[-1]

    report = repeated(REPEATS, TOLERATED, keep, lambda found: bool(called(found)))
    (lost,) = [e for e in report.digests if "customer" in e["text"]]
    assert lost["verdict"] == "slower" or (lost["verdict"] == "inconclusive" and "other programs" in lost["why"])
    # One of a hundred verdicts may be false, so in a round of four such digests now and then one is: not the same one twice.
    faster = Counter(digest for each in reports for digest, verdict in called(each).items() if verdict == "faster")
    assert [digest for digest, times in faster.items() if times > 1] == []

# SPDX-License-Identifier: Apache-2.0
"""Load from other programs next to real servers. Equal servers get no false verdict, and a slower server is still
detected.
"""

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

REPEATS, TOLERATED = 3, 1  # number of comparisons; other load may make TOLERATED of them fail


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Server]]:
    with equal_servers() as made:
        yield made


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tape of 3 seconds with four kinds of reads and one kind of write."""
    return write_tape(tmp_path_factory.mktemp("tape"), 3)


def test_load_next_to_one_side_causes_no_false_verdict(servers: list[Server], tape: Path, tmp_path: Path) -> None:
    """Four programs with busy loops run next to one of two equal servers. `make neighbours` tries loads that change.
    One in 100 verdicts may be false, and each comparison has ten verdicts. The test fails only if the same verdict is
    false twice.
    """

    def falsely(name: str) -> set[tuple[str, str, str]]:
        a = run_once(tape, servers[0], tmp_path / f"a{name}.run")
        with busy_loops(4):
            b = run_once(tape, servers[1], tmp_path / f"b{name}.run")
        ways = {"ab": called(build(tape, [a], [b])), "ba": called(build(tape, [b], [a]))}
        return {(way, *pair) for way, found in ways.items() for pair in found.items()}

    if first := falsely("1"):
        assert first & falsely("2") == set()


def test_missing_index_is_found_under_load(servers: list[Server], tape: Path, tmp_path: Path) -> None:
    """The load is on both sides. If other programs use all cores, the report names these programs as the reason. This
    test must run last, because the index stays dropped.
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
    # One in 100 verdicts may be false, so a digest may be called faster once. The same digest must not be called faster
    # twice.
    faster = Counter(digest for each in reports for digest, verdict in called(each).items() if verdict == "faster")
    assert [digest for digest, times in faster.items() if times > 1] == []

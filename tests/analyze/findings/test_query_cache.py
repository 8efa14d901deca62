# SPDX-License-Identifier: Apache-2.0
"""What a side answered from its query cache."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report
from querytape.analyze.findings.query_cache import cache_sentence, cache_use
from querytape.schemas import Folder


def side(version: str, *counted: tuple[int, int, int, int] | None, read_target: str | None = None) -> list[Folder]:
    """Return the rounds of a side: hits and Com_select before and after each; None where it has no cache."""
    rounds = []
    for number, four in enumerate(counted):
        info: dict[str, Any] = {"target": {"version": version}, "query_cache": None}
        if read_target:
            info["read_target"] = {"version": read_target}
        if four is not None:
            names = ("qcache_hits", "com_select")
            info["query_cache"] = {
                "before": dict(zip(names, four[:2], strict=True)),
                "after": dict(zip(names, four[2:], strict=True)),
            }
        rounds.append(Folder("run", Path(f"{number}.run"), info))
    return rounds


def report(a: list[Folder], b: list[Folder]) -> Report:
    """Return a comparison of them."""
    return Report(Folder("tape", Path("t.tape"), {}), a, b)


@pytest.mark.parametrize(
    ("rounds", "use"),
    [
        (side("5.7.44-log", (10, 10, 70, 50)), (60, 100)),
        (side("10.11.6-MariaDB", (10, 10, 70, 110)), (60, 100)),
        (side("8.0.42", (10, 10, 70, 110), read_target="10.11.6-MariaDB"), (60, 100)),
        (side("5.7.44", (0, 0, 10, 10), (10, 10, 20, 40)), (20, 60)),
        (side("5.7.44", (900, 900, 10, 10)), (10, 20)),
    ],
)
def test_shares(rounds: list[Folder], use: tuple[int, int]) -> None:
    """MySQL's hits are no Com_select, MariaDB's are; rounds are added; a restarted server counts from zero."""
    found = cache_use(report(rounds, side("8.0.42", None)))
    assert found == {"a": use}


def test_what_is_said() -> None:
    """Who, how much, and what to do; nothing where no cache answered."""
    both = report(side("5.7.44", (0, 0, 61, 39)), side("10.11.6-MariaDB", (0, 0, 1, 900)))
    assert cache_sentence(both) == (
        "A answered 61 % of its SELECTs from its query cache (61 of 100); B answered less than 1 % of its SELECTs from its"
        " query cache (1 of 900): those times are the cache's, not the queries'. querytape compare --no-query-cache"
        " compares without it."
    )
    assert cache_sentence(report(side("5.7.44", (5, 5, 5, 90)), side("8.0.42", None))) is None

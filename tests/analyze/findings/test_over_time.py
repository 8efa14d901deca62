# SPDX-License-Identifier: Apache-2.0
"""What is said of a run over time: warm-up, steadiness, stalls."""

import random
import re
from typing import Any

import pytest
from querytape.analyze.findings.over_time import observations, period_s, warm_after_ns

from tests.helpers.tapes import SECOND


def test_periods_and_warm_up() -> None:
    """Stalls that come every 30 s are named as such, random ones not; a run that begins slowly has a warm-up."""
    even = [{"round": 1, "at_ns": n * 30 * SECOND} for n in range(6)]
    assert period_s(even) == pytest.approx(30)
    odd = [{"round": 1, "at_ns": at * SECOND} for at in (1, 2, 30, 31, 90, 200)]
    assert period_s(odd) is None
    parts = [
        {"part": n, "relative_latency": 2.0 if n < 4 else 1.0, "span_ns": 20 * SECOND, "n": 100} for n in range(20)
    ]
    assert warm_after_ns(parts) == 4 * SECOND
    assert warm_after_ns([{**part, "relative_latency": 1.0} for part in parts]) == 0


def parts(*levels: tuple[int, float]) -> list[dict[str, Any]]:
    """Return the rows of relative_latency.sql of run b: so many parts of each level."""
    values = [level for n, level in levels for _ in range(n)]
    return [
        {"run": "b", "round": 1, "part": n, "relative_latency": value, "span_ns": 20 * SECOND, "n": 100}
        for n, value in enumerate(values)
    ]


def stall(at_s: float, long_s: float) -> dict[str, Any]:
    """Return a row of stalls.sql of run a."""
    return {"run": "a", "round": 1, "at_ns": int(at_s * SECOND), "long_ns": int(long_s * SECOND)}


def test_sentences() -> None:
    """Each kind of observation, with its run."""
    (warm,) = observations(parts((4, 2.0), (16, 1.0)), [])
    assert warm == (
        "b",
        "warmed up for 4.00s: statements were 100% slower than afterwards. --exclude-warmup 4s excludes this.",
    )
    (steady,) = observations(parts((12, 1.0), (8, 1.5)), [])
    assert steady == ("b", "was not steady: statements took 50% longer in its last part than in its middle.")
    *_, faster = observations(parts((12, 1.0), (8, 0.8)), [])
    assert faster.text == "was not steady: statements took 20% less time in its last part than in its middle."
    assert observations(parts((20, 1.0)), []) == []
    assert observations(parts((3, 0.7), (1, 1.5), (16, 1.0)), []) == []  # quick, then slow once: no warm-up
    assert warm_after_ns(parts((1, 1.2), (5, 0.5), (14, 1.15))) == 0  # no slower than what came later
    assert observations(parts((10, 3.0)), []) == []  # too few parts to say anything


def test_a_warm_up_is_never_quicker_than_what_follows() -> None:
    """Whatever the parts were, what is said to be slower is at least a tenth slower."""
    chance = random.Random(20)
    for _ in range(2000):
        found = observations(parts(*((1, chance.lognormvariate(0, chance.choice((0.1, 0.5)))) for _ in range(20))), [])
        for text in (each.text for each in found if each.text.startswith("warmed up")):
            assert int(re.findall(r"were (-?\d+)% slower", text)[0]) >= 10, text


def test_stalls_are_counted() -> None:
    """One stall, several, and those that come evenly."""
    assert observations([], [stall(3, 0.5)]) == [("a", "had 1 stall, 500ms in all.")]
    assert observations([], [stall(3, 0.5), stall(4, 1)])[0].text == "had 2 stalls, 1.50s in all, the longest 1.00s."
    even = [stall(10 * n, 0.2) for n in range(5)]
    assert observations([], even)[0].text == "had 5 stalls, 1.00s in all, the longest 200ms; about every 10.0 s."

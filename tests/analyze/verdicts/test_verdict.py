# SPDX-License-Identifier: Apache-2.0
"""Verdicts on simulated pairs of runs with known effects: each effect is found, and no other digest gets a verdict."""

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scipy
from querytape.analyze import build
from querytape.analyze.verdicts import shifts
from querytape.analyze.verdicts.exact import Exact
from querytape.analyze.verdicts.shifts import Shift
from querytape.analyze.verdicts.verdict import (
    ERRORS,
    FASTER,
    INCONCLUSIVE,
    MIN_EVENTS,
    SAME,
    SLOWER,
    UNSTABLE,
    Case,
    Conditions,
    Margin,
    Verdict,
    judge_all,
)

from tests.helpers.simulated import Machine, Workload, digest_name, simulate_run, simulate_tape

pytestmark = pytest.mark.slow

LOAD = Workload(digests=16, repeats=400)
TWICE = math.log(2)


def verdicts(folder: Path, a: Machine, b: Machine, seed: int) -> dict[str, str]:
    """Return {digest: verdict} for two simulated runs."""
    tape = simulate_tape(folder / "t.tape", LOAD)
    runs = [simulate_run(folder / f"{n}.run", tape, LOAD, m, seed * 2 + n) for n, m in enumerate((a, b))]
    return {entry["digest"]: entry["verdict"] for entry in build(tape, runs[:1], runs[1:]).digests}


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(6))
def test_equal_servers_never_give_the_verdict_slower(tmp_path: Path, seed: int) -> None:
    """The runs differ only by noise, a drift of up to 8 %, random stalls and one slow second."""
    drift = random.Random(seed).uniform(-0.08, 0.08)
    found = verdicts(tmp_path, Machine(), Machine(drift=drift), seed)
    assert {digest: word for digest, word in found.items() if word in ("slower", "faster")} == {}


@pytest.mark.parametrize("seed", range(3))
def test_real_regressions_and_nothing_else_are_found(tmp_path: Path, seed: int) -> None:
    """One digest is 3 times slower, and one is 1.8 times slower. One has a slow tail, and one is faster. No other
    digest gets such a verdict.
    """
    effects = {
        5: lambda chance, ms: ms * 3,
        8: lambda chance, ms: ms * 1.8,
        9: lambda chance, ms: ms * (6 if chance.random() < 0.15 else 1),
        11: lambda chance, ms: ms / 2,
    }
    found = verdicts(tmp_path, Machine(), Machine(effects=effects), seed)
    called = {digest: word for digest, word in found.items() if word in ("slower", "faster")}
    assert called == {
        digest_name(5): "slower",
        digest_name(8): "slower",
        digest_name(9): "slower",
        digest_name(11): "faster",
    }


def judged(middle: shifts.Test, rounds: shifts.Test | None, median_ns: int = 1_000_000) -> Verdict:
    """Return the verdict on one digest that is tested together with 19 unchanged digests."""
    calm = Case("calm", median_ns, Shift(100, True, shifted(0.0), None, None, 0.0, None), 0)
    case = Case("x", median_ns, Shift(100, True, middle, None, rounds, 0.0, None), 0)
    return judge_all([case, *(replace(calm, digest=f"calm {n}") for n in range(19))], Margin())["x"]


def shifted(shift: float, error: float = 0.01) -> shifts.Test:
    """Return a test with the given estimate and a margin of 10 %."""
    margin = math.log1p(0.1)
    above, below = (float(scipy.stats.t.sf((sign * shift - margin) / error, 20)) for sign in (1, -1))
    return shifts.Test(shift, shift - 2 * error, shift + 2 * error, above, below, error, 20)


@pytest.mark.parametrize("sign", [1, -1])
def test_verdict_requires_blocks_and_rounds_to_agree(sign: int) -> None:
    """A verdict needs a shift that both the test of blocks and the test of rounds find."""
    sure, unsure = shifted(sign * 0.7), shifted(sign * 0.7, error=0.9)
    word = SLOWER if sign > 0 else FASTER
    assert judged(sure, sure).word == judged(sure, None).word == word
    assert judged(sure, unsure).word == UNSTABLE
    assert judged(unsure, sure).word != word
    found = judged(shifted(sign * 0.7, error=0.15), shifted(sign * 0.7, error=0.1)).p
    assert found is not None
    assert found == pytest.approx(2 * shifted(0.7, error=0.15).p_above)


@pytest.mark.parametrize("unseen", [None, "it is not known what else ran"])
@pytest.mark.parametrize("test", ["middle", "tail"])
def test_two_remaining_rounds_support_no_tail_verdict(unseen: str | None, test: str) -> None:
    """Two of three rounds remain. They do not support a verdict on the tail. If the CPU use of other programs is
    unknown, they do not support a verdict on the median. Only the test of rounds protects against such programs.
    """
    sure, flat = shifted(0.7, 0.001), shifted(0.0, 0.001)
    middle, tail = (sure, flat) if test == "middle" else (flat, sure)
    left = Shift(100, True, middle, tail, None, 1e9, None)
    for rounds, called in ((None, True), (sure, test == "middle" and not unseen)):
        whole = replace(left, rounds=rounds, tail_rounds=rounds)
        case = Case("x", 10**6, whole, 0, shifts.Shifts(left, left, left))
        word = judge_all([case], Margin(), Conditions(unseen=unseen, rounds=3))["x"].word
        assert (word == SLOWER) is called


@pytest.mark.parametrize(("error", "word"), [(0.01, SLOWER), (0.9, SAME)])
def test_tail_verdict_requires_blocks_and_rounds_to_agree(error: float, word: str) -> None:
    shift = Shift(100, True, shifted(0.0), shifted(1.0), None, 1e9, None, tail_rounds=shifted(1.0, error))
    verdict = judge_all([Case("x", 1_000_000, shift, 0)], Margin())["x"]
    assert verdict.word == word


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ({"events": MIN_EVENTS}, SLOWER),
        ({"events": MIN_EVENTS - 1}, INCONCLUSIVE),
        ({"new_errors": 1}, ERRORS),
        ({"middle": None}, INCONCLUSIVE),
        ({"shift": 0.0}, SAME),
        ({"shift": 0.0, "error": 0.2, "median_ns": 1}, SAME),
        ({"median_ns": 40_000}, SAME),
        ({"median_ns": 50_000}, SLOWER),
        ({"shift": 0.0, "error": 0.2, "median_ns": 10**9, "events": 31}, SAME),
        ({"shift": 0.09, "error": 0.2, "median_ns": 10**9}, UNSTABLE),
        ({"shift": -0.09, "error": 0.2, "median_ns": 10**9}, UNSTABLE),
        ({"tail": 1.0, "shift": 0.0, "tail_ns": 4 * 50_000}, SLOWER),
        ({"tail": 1.0, "shift": 0.0, "tail_ns": 4 * 50_000 - 1}, SAME),
        ({"tail": 0.05, "shift": 0.0, "tail_ns": 10**9}, SAME),
    ],
)
def test_each_condition_for_a_verdict_changes_at_its_limit(cases: dict[str, Any], words: str) -> None:
    middle = shifted(cases.get("shift", 0.8), cases.get("error", 0.01)) if cases.get("middle", 1) else None
    tail = shifted(cases["tail"]) if "tail" in cases else None
    shift = Shift(cases.get("events", 100), True, middle, tail, None, cases.get("tail_ns", 0.0), None)
    pair = cases.get("median_ns", 1_000_000)
    verdict = judge_all([Case("x", pair, shift, cases.get("new_errors", 0))], Margin())["x"]
    assert verdict.word == words
    doubted = judge_all([Case("x", pair, shift, 0)], Margin(), Conditions("the clocks differ"))["x"]
    assert doubted == Verdict(INCONCLUSIVE, "the clocks differ")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"new_errors": 1}, "1 new error"),
        ({"new_errors": 2}, "2 new errors"),
        ({"new_errors": 1234}, "1,234 new errors"),
        ({"events": 0}, "no event succeeded on both sides"),
        ({"events": 29}, "29 events on both sides, at least 30 needed"),
        ({"middle": None}, "all events ran at the same time, so their variance is unknown"),
        ({}, "takes 2.23 times as long as in A"),
        ({"shift": -0.8}, "takes 0.45 times as long as in A"),
        ({"shift": 3.0}, "takes 20.1 times as long as in A"),
        ({"shift": 0.0}, "within the margin"),
        ({"shift": 0.0, "error": 0.2}, "differs by less than 50 µs"),
        (
            {"shift": 0.09, "error": 0.2, "median_ns": 10**9},
            "takes 0.73 to 1.63 times as long as in A (interval too wide); more rounds are unlikely to help",
        ),
        ({"shift": 0.0, "tail": 1.0}, "its p95 takes 2.72 times as long as in A"),
    ],
)
def test_verdict_has_a_short_reason_with_its_numbers(given: dict[str, Any], why: str) -> None:
    middle = shifted(given.get("shift", 0.8), given.get("error", 0.01)) if given.get("middle", 1) else None
    tail = shifted(given["tail"]) if "tail" in given else None
    shift = Shift(given.get("events", 100), True, middle, tail, None, 1e9, None)
    pair = given.get("median_ns", 1_000_000)
    assert judge_all([Case("x", pair, shift, given.get("new_errors", 0))], Margin())["x"].why == why


@pytest.mark.parametrize(
    ("few", "why"),
    [
        (Exact(9, 0.8, 0.1, 0.001, 1.0, 1.0), "takes 2.23 times as long as in A (9 pairs)"),
        (Exact(9, -0.8, 0.1, 1.0, 0.001, 1.0), "takes 0.45 times as long as in A (9 pairs)"),
        (Exact(9, 0.0, 0.01, 1.0, 1.0, 0.01), "within the margin (9 pairs)"),
        (Exact(9, 0.2, 9.0, 1.0, 1.0, 1.0), "takes 1.22 times as long as in A (9 pairs, not certain); more rounds"),
        (Exact(1, 0.2, 0.0, 1.0, 1.0, 1.0), "1 undisturbed pair, at least 5 needed; about 7"),
        (Exact(0, 0.0, 0.0, 1.0, 1.0, 1.0), "0 undisturbed pairs, at least 5 needed; about"),
    ],
)
def test_reason_for_few_pairs_names_pairs_and_rounds(few: Exact, why: str) -> None:
    """The verdict's reason states how often the statement was compared and how many more rounds would settle the
    verdict.
    """
    case = Case("x", 10**9, None, 0, exact=few)
    assert judge_all([case], Margin())["x"].why.startswith(why)


@pytest.mark.parametrize(
    ("few", "median_ns", "word", "p"),
    [
        (Exact(9, TWICE, 0.1, 0.001, 1.0, 1.0), 50_000, SLOWER, 0.001),
        (Exact(9, TWICE, 0.1, 0.001, 1.0, 1.0), 49_999, INCONCLUSIVE, None),
        (Exact(9, -TWICE, 0.1, 1.0, 0.001, 1.0), 100_000, FASTER, 0.001),
        (Exact(9, -TWICE, 0.1, 1.0, 0.001, 1.0), 99_998, INCONCLUSIVE, None),
        (Exact(9, TWICE, 0.1, 0.02, 1.0, 1.0), 10**9, SLOWER, 0.02),
        (Exact(9, TWICE, 0.1, 0.021, 1.0, 1.0), 10**9, INCONCLUSIVE, None),
        (Exact(9, -TWICE, 0.1, 1.0, 0.02, 1.0), 10**9, FASTER, 0.02),
        (Exact(9, -TWICE, 0.1, 1.0, 0.021, 1.0), 10**9, INCONCLUSIVE, None),
        (Exact(9, 0.0, 0.1, 1.0, 1.0, 0.05), 10**9, SAME, None),
        (Exact(9, 0.0, 0.1, 1.0, 1.0, 0.051), 10**9, INCONCLUSIVE, None),
        (Exact(9, 0.0, 0.125, 1.0, 1.0, 1.0), 200_000, INCONCLUSIVE, None),  # twice the spread equals the margin
        (Exact(9, 0.0, 0.125, 1.0, 1.0, 1.0), 199_000, SAME, None),
        (Exact(9, TWICE, 0.25, 1.0, 1.0, 1.0), 32_000, SAME, None),
        (Exact(9, TWICE, 0.25, 1.0, 1.0, 1.0), 34_000, INCONCLUSIVE, None),
        (Exact(9, -TWICE, 0.25, 1.0, 1.0, 1.0), 48_000, SAME, None),
        (Exact(9, -TWICE, 0.25, 1.0, 1.0, 1.0), 52_000, INCONCLUSIVE, None),
        (Exact(9, 0.0, 0.0, 1.0, 1.0, 1.0), 1000, INCONCLUSIVE, None),  # the variation is unknown
        (Exact(5, TWICE, 0.1, 0.1, 1.0, 1.0), 10**9, SLOWER, 0.1),
        (Exact(5, TWICE, 0.1, 0.101, 1.0, 1.0), 10**9, INCONCLUSIVE, None),
        (Exact(4, TWICE, 0.1, 0.001, 1.0, 1.0), 10**9, INCONCLUSIVE, None),
    ],
)
def test_verdict_on_few_pairs_changes_at_its_limits(few: Exact, median_ns: int, word: str, p: float | None) -> None:
    """Each condition of a verdict on few pairs is tested at its limit, together with the p-value of the verdict."""
    verdict = judge_all([Case("x", median_ns, None, 0, exact=few)], Margin())["x"]
    assert (verdict.word, verdict.p) == (word, p)

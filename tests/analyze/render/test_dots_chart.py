# SPDX-License-Identifier: Apache-2.0
"""The dot chart: position and size of each digest's dot, and verdicts that colour-blind readers can distinguish."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from querytape.analyze import Report, build
from querytape.analyze.model import sides_of
from querytape.analyze.render.dots_chart import MARKS, dots_spec
from querytape.analyze.verdicts.verdict import WORDS

from tests.helpers.shapes import entry_of

# Colour vision deficiencies as matrices on linear RGB, from Machado, Oliveira and Fernandes (2009).
SIGHTS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
LEAST_DISTANCE = 15  # in CIE L*a*b*; 2 is just noticeable


def seen(colour: str, sight: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    """Return a colour in L*a*b* as seen by a viewer with the given colour vision."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    r, g, b = (min(max(sum(f * v for f, v in zip(row, linear, strict=True)), 0), 1) for row in sight)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def rows_of(report: Report) -> dict[str, dict[str, object]]:
    """Return the dots of a report by digest."""
    spec = dots_spec(report)
    assert spec is not None
    return {row["digest"]: row for row in spec["layer"][-1]["data"]["values"]}


@pytest.mark.slow
def test_every_digest_is_a_dot(report: Report) -> None:
    """Each dot lies at the digest's median times in ms. The dot has the digest's events, verdict and ratio."""
    rows = rows_of(report)
    assert rows.keys() == {entry["digest"] for entry in report.digests}
    for entry in report.digests:
        row = rows[entry["digest"]]
        a, b = sides_of(entry)
        assert (row["x"], row["y"]) == ((a["p50_ns"] or 0) / 1e6, (b["p50_ns"] or 0) / 1e6)
        assert (row["n"], row["verdict"]) == (b["n"], entry["verdict"])
    (slower,) = (row for row in rows.values() if row["verdict"] == "slower")
    assert slower["y"] > 2.5 * slower["x"]  # type: ignore[operator]
    assert str(slower["ratio"]).startswith("x")


@pytest.mark.parametrize(("side", "axis", "other"), [("a", "x", "y"), ("b", "y", "x")])
@pytest.mark.parametrize("gone", [None, {"n": 20, "p50_ns": None}])
def test_digest_without_times_is_drawn_at_the_edge(
    report: Report, side: str, axis: str, other: str, gone: dict[str, object] | None
) -> None:
    """A digest that always failed or was never sent has a dot at the edge of the chart, inside the axes. A text states
    the reason.
    """
    first, *others = report.digests
    lacking = replace(report, digests=[entry_of(first, {side: gone}), *others])
    rows, spec = rows_of(lacking), dots_spec(lacking)
    assert spec is not None
    low, high = spec["layer"][-1]["encoding"][axis]["scale"]["domain"]  # type: ignore[literal-required]
    row = rows[first["digest"]]
    assert low < row[axis] < min(each[axis] for each in rows.values() if each is not row)  # type: ignore[operator, type-var]
    assert row[other] != row[axis]
    texts = [layer["mark"].get("text") for layer in spec["layer"] if isinstance(layer["mark"], dict)]
    assert f"no time in {side.upper()}" in texts
    assert len(rows) == len(report.digests)
    assert all(low < each[a] < high for each in rows.values() for a in ("x", "y"))


def test_axes_are_equal_with_a_line_of_equality(report: Report) -> None:
    """Both axes are logarithmic and cover the same range. The line of equality runs from corner to corner."""
    spec = dots_spec(report)
    assert spec is not None
    line, place = spec["layer"][0], spec["layer"][-1]["encoding"]
    assert place["x"]["scale"] == place["y"]["scale"]
    assert place["x"]["scale"]["type"] == "log"
    assert [(at["x"], at["y"]) for at in line["data"]["values"]] == [(v, v) for v in place["x"]["scale"]["domain"]]


def test_slower_digests_are_drawn_on_top(report: Report) -> None:
    """Slower digests are drawn last. If verdicts are equal, larger dots are drawn first, so that small dots stay
    visible.
    """
    spec = dots_spec(report)
    assert spec is not None
    rows = spec["layer"][-1]["data"]["values"]
    order = [(-WORDS.index(row["verdict"]), -row["n"]) for row in rows]
    assert order == sorted(order)
    assert rows[-1]["verdict"] == "slower"


def test_single_run_and_runs_without_times_have_no_dots(report: Report, runs: tuple[Path, Path, Path]) -> None:
    assert dots_spec(build(runs[0], [runs[1]])) is None
    assert dots_spec(replace(report, digests=[{**entry, "a": None, "b": None} for entry in report.digests])) is None


def test_colour_blind_readers_can_distinguish_verdicts() -> None:
    """Each verdict has its own shape. Its colour can be distinguished with each kind of colour vision."""
    assert set(MARKS) == set(WORDS)
    assert len({shape for _, shape in MARKS.values()}) == len(MARKS)
    for name, sight in SIGHTS.items():
        for (one, (a, _)), (two, (b, _)) in combinations(MARKS.items(), 2):
            far = sum((p - q) ** 2 for p, q in zip(seen(a, sight), seen(b, sight), strict=True)) ** 0.5
            assert far >= LEAST_DISTANCE, (name, one, two, far)

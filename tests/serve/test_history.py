# SPDX-License-Identifier: Apache-2.0
"""The history of many nights: the night in which a slowdown began, and other changes in that night."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.serve.history import LEAST_NIGHTS, history, read_night, stamp

from .conftest import MARKUP, write_night

RUNS = [{"target": {"version": version, "variables": {"sort_buffer_size": "1"}}} for version in ("10.6", "11.4")]


def runs(version: str, size: str, port: str = "1") -> list[dict[str, Any]]:
    """Return the runs of a report in which B has the given version and settings."""
    return [RUNS[0], {"target": {"version": version, "variables": {"sort_buffer_size": size, "port": port}}}]


def nights(folder: Path, ratios: list[float], **more: Any) -> Path:
    """Write one night for each ratio."""
    for number, ratio in enumerate(ratios):
        write_night(folder / f"2026-11-{number + 1:02d}T0200", ratio, **more)
    return folder


@pytest.mark.parametrize("factor", [1.5, 0.5])
def test_night_in_which_a_slowdown_began_is_named(tmp_path: Path, factor: float) -> None:
    """The test checks a single digest and the total. Other changes of the same night are listed, except a changed port."""
    for number in range(14):
        late = number >= 9
        write_night(
            tmp_path / f"2026-11-{number + 1:02d}T0200",
            (1 + number % 3 / 100) * (factor if late else 1),
            runs=runs("11.8" if late else "11.4", "2" if late else "1", str(number)),
        )
    told = history(tmp_path)
    for change in (*told["whole"], *told["digests"]):
        assert change["at"] == "2026-11-10T0200"
        assert change["slower"] is (factor > 1)
        assert change["after"] / change["before"] == pytest.approx(factor, rel=0.03)
        assert change["with_it"] == ("version of B 11.4 -> 11.8", "sort_buffer_size of B 1 -> 2")
    assert (len(told["whole"]), len(told["digests"]), told["known"]) == (1, 1, 14)
    assert len(told["series"]["ab"]) == 14
    assert (told["digests"][0]["stake"] > 0) is (factor > 1)


def test_end_of_a_slow_level_names_the_next_night(tmp_path: Path) -> None:
    ratios = [1 + number % 4 / 200 + (1.0 if 8 <= number < 16 else 0) for number in range(24)]
    told = history(nights(tmp_path, ratios))
    assert [(change["at"], change["until"]) for change in sorted(told["digests"], key=lambda each: each["at"])] == [
        ("2026-11-09T0200", "2026-11-17T0200"),
        ("2026-11-17T0200", None),
    ]


@pytest.mark.parametrize("ratios", [[1.0] * 20, [1 + n % 5 / 100 for n in range(20)], [1.0] * 10 + [1.08] * 10])
def test_noise_and_differences_below_10_percent_are_no_change(tmp_path: Path, ratios: list[float]) -> None:
    told = history(nights(tmp_path, ratios))
    assert (told["whole"], told["digests"]) == ([], [])


def test_few_nights_have_no_change(tmp_path: Path) -> None:
    told = history(nights(tmp_path, [1.0] * 5 + [9.0] * (LEAST_NIGHTS - 6)))
    assert (told["whole"], told["digests"], told["known"]) == ([], [], LEAST_NIGHTS - 1)
    told = history(nights(tmp_path / "more", [1.0] * 5 + [9.0] * (LEAST_NIGHTS - 5)))
    assert len(told["whole"]) == 1


@pytest.mark.parametrize(
    "said",
    [
        *(
            "",
            "[]",
            "{",
            "null",
            "{}",
            '{"digests": 1}',
            '{"digests": [1, null, {}]}',
            '{"runs": [{}], "digests": [{}]}',
        ),
        *('{"headline": 1, "verdicts": [], "tape": "x"}', '{"verdicts": {"slower": "<b>"}}', "[" * 5000),
        '{"digests": [{"digest": [], "pair": {"ratio": 1e999}, "a": {"total_ns": -1}, "b": {"total_ns": true}}]}',
        '{"digests": [{"pair": {"ratio": -1}, "a": {"total_ns": 1}, "b": {"total_ns": 1}}]}',
    ],
)
def test_invalid_report_of_a_night_is_tolerated(tmp_path: Path, said: str) -> None:
    """A night with an invalid report has no values or shows an error message. The other nights are shown."""
    nights(tmp_path, [1.0] * 3)
    (tmp_path / "2026-11-02T0200" / "report.json").write_text(said)
    (tmp_path / "2026-11-02T0200" / "night.json").write_text(said)
    told = history(tmp_path)
    assert (len(told["nights"]), told["known"]) == (3, 2)
    json.dumps(told, allow_nan=False)


def test_properties_of_a_night(tmp_path: Path) -> None:
    """A night has a gate, verdicts and an answer. An incomplete night is marked. Symbolic links are not followed."""
    nights(tmp_path, [1.5, 1.0, 1.0])
    night = read_night(tmp_path / "2026-11-01T0200")
    assert (night.complete, night.exit_code, night.slower, night.whole) == (True, 3, 1, 1.5)
    assert night.digests == {"ab": (1.5, 1e9, f"select {MARKUP}")}
    (tmp_path / "2026-11-02T0200" / "report.json").unlink()
    assert read_night(tmp_path / "2026-11-02T0200").problem == "report.json is missing"
    (tmp_path / "2026-11-02T0200" / "night.json").unlink()
    assert read_night(tmp_path / "2026-11-02T0200").problem == "the comparison of this night did not finish"
    before = stamp(tmp_path)
    (tmp_path / "2026-11-03T0200" / "report.json").rename(tmp_path / "moved.json")
    (tmp_path / "2026-11-03T0200" / "report.json").symlink_to(tmp_path / "moved.json")
    assert "symbolic link" in str(read_night(tmp_path / "2026-11-03T0200").problem)
    assert stamp(tmp_path) != before

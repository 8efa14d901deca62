# SPDX-License-Identifier: Apache-2.0
"""The page of a nightly folder."""

import json
import re
from typing import Any

import pytest
from querytape.analyze.render.chart_specs import Chart
from querytape.serve.night_views import moment, ratio_chart, view_of, whole_series

from tests.helpers.served import Served

from .conftest import MARKUP

pytestmark = pytest.mark.slow


def test_page_names_the_night_in_which_a_change_began(site: Served) -> None:
    """The page shows the date and size of the change with a link to the night's report. All nights are listed, and
    texts are escaped.
    """
    text = site.made("/nights/nights").text
    assert "The total time of all statements became longer" in re.sub(r"\s+", " ", text)
    assert 'since <a href="/comparison/nights/2026-11-09T0200">2026-11-09T0200</a>' in text
    assert text.count('href="/comparison/nights/2026-11-0') >= 9
    assert MARKUP not in text
    assert "&lt;b&gt;slower" in text
    assert "secret" not in text
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.S)[0])
    assert [chart["name"] for chart in data["charts"]] == ["whole", "ab"]
    assert site.ask("/comparison/nights/2026-11-09T0200").status == 422


@pytest.mark.parametrize("changed", [[], [3], [2, 4]])
def test_chart_has_a_level_line_between_changes(changed: list[int]) -> None:
    """The chart has a point for each night, a line at each change, and the medians between changes. Vega-Lite accepts
    the chart.
    """
    names = [f"2026-11-{day:02d}T0200" for day in range(1, 7)]
    changes: Any = [{"at": names[at], "slower": True} for at in changed]
    spec = ratio_chart([(name, 1.0 + number) for number, name in enumerate(names)], changes)
    rules, levels, points = (layer["data"]["values"] for layer in spec["layer"])
    assert [rule["night"] for rule in rules] == [names[at] for at in changed]
    assert len(points) == len(levels) == 6
    assert len({level["part"] for level in levels}) == len(changed) + 1
    import vl_convert

    assert "<svg" in vl_convert.vegalite_to_svg(json.dumps(Chart("x", "x", spec).spec))


def test_time_and_ratio_of_a_night() -> None:
    """The name of a night contains its time. A night without a ratio has no point in the chart."""
    assert moment("2026-11-22T0215-2") == "2026-11-22T02:15:00Z"
    told: Any = {"nights": [{"name": "a", "whole": 1.5}, {"name": "b", "whole": None}]}
    assert whole_series(told) == [("a", 1.5)]


def test_each_history_of_nights_has_one_answer_and_tone() -> None:
    """The cases are: too few nights, everything changed, a digest is slower, a digest is faster, no change."""
    change: Any = {"digest": "d", "text": "select 1", "at": "a", "before": 1.0, "after": 2.0, "p": 0.01, "until": None}
    slower = {**change, "stake": 5e6, "with_it": ["a different tape"], "slower": True}
    faster = {**change, "stake": -5e6, "with_it": [], "slower": False}
    told: Any = {
        "nights": [],
        "whole": [],
        "digests": [],
        "more": 0,
        "followed": 1,
        "known": 12,
        "least": 10,
        "level": 0.05,
    }
    cases: list[tuple[Any, str, str]] = [
        ({"known": 3}, "unknown", "Changes cannot be significant yet: 3 of 10 required nights"),
        (
            {"whole": [slower]},
            "no",
            "The total time of all statements became longer since a: B takes x2.00 of A's time",
        ),
        ({"digests": [slower]}, "no", "The total time did not change, but 1 digest is slower than before."),
        ({"digests": [faster]}, "yes", "No significant slowdown"),
        ({}, "yes", "No significant change in these nights"),
    ]
    for more, tone, begin in cases:
        (answer,) = view_of(told | more, {"a": "/a"}).answers
        assert (answer.tone, "".join(piece.text for piece in answer.pieces)[: len(begin)]) == (tone, begin)
    (line,) = view_of(told | {"digests": [slower]}, {"a": "/a"}).changes
    assert (line.worth, line.with_it, line.pieces[0].mark) == (
        "+5.00ms",
        "Also changed in this night: a different tape.",
        "bad",
    )

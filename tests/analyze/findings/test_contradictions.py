# SPDX-License-Identifier: Apache-2.0
"""A ratio that says slower and a sum that says less are never shown without the reason."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, as_html, as_json, as_markdown, build

from tests.helpers.reports import terminal_text
from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

EVENTS, HEAVY = 200, 20
FAST, SLOW = MS // 10, 4 * MS // 10
CACHE = {"before": {"qcache_hits": 0, "com_select": 0}, "after": {"qcache_hits": 90, "com_select": 10}}


def opposed(folder: Path, swap: bool = False, heavy_ns: int = 60 * MS, cache: Any = None) -> Report:
    """Return a report in which one side is four times faster but for every tenth event, which takes very long there."""
    events = [{"statement": "SELECT 1", "digest": "1" * 16, "start_ns": T0 + n * 50 * MS} for n in range(EVENTS)]
    tape = make_tape(folder / "t.tape", events)
    write_digests(tape, {"1" * 16: "select c from t where id = ?"})
    sides = []
    for quick in (True, False):
        rows = []
        for n in range(EVENTS):
            due, jitter = n * 50 * MS, n * 37 % 100 * 100
            took = (heavy_ns if n % (EVENTS // HEAVY) == 5 else FAST) if quick else SLOW
            rows.append({"due_ns": due, "sent_ns": due, "done_ns": due + took + jitter})
        sides.append(rows)
    if swap:
        sides.reverse()
    given = {"target": {"name": "old", "version": "5.7.44"}, "query_cache": cache}
    a = make_run(folder / "a.run", tape, sides[0], **given)
    return build(tape, [a], [make_run(folder / "b.run", tape, sides[1])])


def test_slower_by_ratio_less_in_sum(tmp_path: Path) -> None:
    """The sentence names how many events went either way; it stands beside the ratio in every output."""
    report = opposed(tmp_path)
    (entry,) = report.digests
    assert entry["shift"]["ratio"] > 1.5
    assert entry["pair"]["lost_ns"] < -HEAVY * 50 * MS
    assert entry["note"] == (
        "yet 1.14s less in sum: 180 events took longer in B (54.0ms in all), 20 events took less (1.19s)"
    )
    flat = " ".join(terminal_text(report).split())
    for text in (flat, as_html(report), as_markdown(report).replace("\\", "")):
        assert entry["note"] in text
    assert json.loads(as_json(report))["digests"][0]["note"] == entry["note"]
    assert "1 digest, 200 events, 1.14s gained in sum: most events take longer" in flat


def test_faster_by_ratio_more_in_sum(tmp_path: Path) -> None:
    """The same in the other direction."""
    (entry,) = opposed(tmp_path, swap=True).digests
    assert (
        entry["note"]
        == "yet 1.14s more in sum: 20 events took longer in B (1.19s in all), 180 events took less (54.0ms)"
    )


def test_a_query_cache_is_named(tmp_path: Path) -> None:
    """Where one answered a good part, it may be the reason."""
    (entry,) = opposed(tmp_path, cache=CACHE).digests
    assert entry["note"].endswith("; the query cache of A answered some at once, which queries can't do")


@pytest.mark.sampled
@pytest.mark.parametrize("heavy_ns", [FAST, 3 * FAST])
def test_what_agrees_needs_no_reason(tmp_path: Path, heavy_ns: int) -> None:
    """Ratio and sum in the same direction."""
    (entry,) = opposed(tmp_path, heavy_ns=heavy_ns).digests
    assert entry["pair"]["lost_ns"] > 0
    assert entry["note"] is None

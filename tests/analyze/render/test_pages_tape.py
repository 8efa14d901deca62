# SPDX-License-Identifier: Apache-2.0
"""The tape page in a real browser: charts, hostile texts, and the counts of omitted list entries."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import summarise_tape, tape_page
from querytape.analyze.render.chart_library import chart_library

from tests.analyze.workload.test_workload import buy, event
from tests.helpers.browser import browser
from tests.helpers.reports import HOSTILE
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, make_tape

from .test_tape_charts import traffic

pytestmark = pytest.mark.slow

PROBE = """
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const all = (q) => [...document.querySelectorAll(q)];
  for (let i = 0; i < 200 && all(".chart[data-drawn]").length < all(".chart").length; i++) {
    all(".chart").forEach((c) => { if (!c.dataset.drawn) c.scrollIntoView(); }); await wait(50);
  }
  return { charts: all(".chart").length, drawn: all(".chart[data-drawn] svg").length,
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    requests: performance.getEntriesByType("resource").length, hacked: window.hacked === 1 };
})()
"""


def page_of(path: Path, events: list[dict[str, Any]], samples: bool = False, **info: Any) -> str:
    """Return the page of a tape without the script of the chart library."""
    page = tape_page(summarise_tape(make_tape(path, events, **info), pictures=True), samples)
    return page.replace(chart_library(), "")


@pytest.mark.sampled
@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1200])
def test_all_tape_charts_are_drawn(width: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The page fits a desktop screen and a phone screen. The page loads nothing and never runs text from the tape as a
    script.
    """
    hostile = HOSTILE.replace("alert(1)", "window.hacked=1").replace("alert(2)", "window.hacked=1")
    events = [{**one, "user": hostile, "db": hostile, "digest": f"{1:016x}"} for one in traffic(1)]
    tape = make_tape(tmp_path / "t.tape", events, server_version=hostile, warnings=[{"kind": "hole", "text": hostile}])
    write_digests(tape, {f"{1:016x}": hostile})
    file = tmp_path / "page.html"
    file.write_text(tape_page(summarise_tape(tape, pictures=True)), encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        chromium.resize(width, 900)
        chromium.open(file.as_uri())
        seen = chromium.run(PROBE)
    assert seen.pop("charts") == seen.pop("drawn") >= 6
    assert seen == {"wide": False, "requests": 0, "hacked": False}
    assert "\x1b" not in file.read_text(encoding="utf-8")


def test_partial_tape_and_unparsed_lines_precede_charts_and_tables(tmp_path: Path) -> None:
    page = page_of(
        tmp_path / "t.tape",
        [event(1, "SELECT a FROM t WHERE b = 1")],
        warnings=[{"kind": "hole", "text": "a hole of 3 s"}],
        problems={"bad time": 2},
    )
    head = page.partition("<h2>")[0]
    assert "<b>partial tape:</b> a hole of 3 s" in head
    assert "<b>not parsed:</b> 2 bad time (inspect --problems lists them)" in head


def test_page_contains_the_workload(tmp_path: Path) -> None:
    """The page shows the workload sections of the terminal as tables. Literal values appear only on request."""
    events = [*buy(1, 1), *buy(2, 2, "ROLLBACK"), *[event(3, "UPDATE t SET a = 1 WHERE id = 4711")] * 2]
    for samples in (False, True):
        page = page_of(tmp_path / f"{samples}.tape", events, samples)
        assert "Transactions by total time of their statements" in page
        rows = page.partition("Rows written or locked most often")[2].partition("</table>")[0]
        assert ("id = 4711" in rows) == samples
        assert "id = no. 1" in rows or samples


def test_page_shows_the_number_of_omitted_list_rows(tmp_path: Path) -> None:
    events = [
        {"session": n, "user": f"u{n}", "statement": "SELECT 1", "digest": f"{n:016x}", "duration_ns": MS}
        for n in range(1, 151)
    ]
    page = page_of(tmp_path / "t.tape", events)
    accounts = page[page.index('id="accounts"') :]
    assert accounts[: accounts.index("</table>")].count("<tr>") == 101
    assert "50 more (use inspect --json)." in accounts


def test_page_of_tape_without_events_states_that(tmp_path: Path) -> None:
    assert "0 events, 0 sessions, 0 digests" in page_of(tmp_path / "t.tape", [])

# SPDX-License-Identifier: Apache-2.0
"""The HTML report in a real browser: charts, search, sorting, statement details and hostile texts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze import Report, Settings, as_html, as_json, build
from querytape.analyze.model import Variable

from tests.helpers.browser import browser
from tests.helpers.reports import HOSTILE
from tests.helpers.runs import make_run
from tests.helpers.shapes import entry_of
from tests.helpers.simulated import digest_name
from tests.helpers.tapes import make_tape

A4_TEXT_PX = 718  # width of A4 without Chromium's margins; a scroll bar makes it narrower

PROBE = """
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const $ = (q) => document.querySelector(q), all = (q) => [...document.querySelectorAll(q)];
  const found = {};
  for (let i = 0; i < 200 && all(".chart[data-drawn]").length < all(".chart").length; i++) {
    all(".chart").forEach((c) => { if (!c.dataset.drawn) c.scrollIntoView(); }); await wait(50);
  }
  found.charts = all(".chart").length; found.drawn = all(".chart[data-drawn] svg").length;
  found.rows = all("#digests tbody tr").length;
  $("#search").value = "%(word)s"; $("#search").dispatchEvent(new Event("input"));
  found.matching = all("#digests tbody tr").length;
  $("#search").value = ""; $("#search").dispatchEvent(new Event("input"));
  all("#digests th button")[4].click();
  found.sorted = all("#digests tbody tr td:nth-child(5)").map((c) => c.textContent);
  const slower = all(".verdicts button").find((b) => b.dataset.verdict === "slower");
  if (slower) slower.click();
  found.slower = all("#digests tbody tr").length;
  location.hash = "d%(digest)s";
  for (let i = 0; i < 100 && all("#details .chart svg").length < 2; i++) await wait(50);
  found.details = !$("#details").hidden && $("#details h2").textContent;
  found.detailCharts = all("#details .chart svg").length;
  found.requests = performance.getEntriesByType("resource").length;
  found.hacked = window.hacked === 1;
  return found;
})()
"""


def in_browser(page: str, tmp_path: Path, request: pytest.FixtureRequest, digest: str, word: str) -> dict[str, Any]:
    """Open a page in a browser, use the controls of the page, and return the observed state."""
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        chromium.open(file.as_uri())
        found: dict[str, Any] = chromium.run(PROBE % {"digest": digest, "word": word})
    return found


@pytest.mark.browser
def test_page_works_in_a_browser(report: Report, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The test covers charts, search, sorting, verdict filters and digest details. The page makes no network requests."""
    found = in_browser(as_html(report), tmp_path, request, digest=digest_name(5), word=digest_name(5)[-6:])
    assert found["drawn"] == found["charts"] > 4, found
    assert found["rows"] == 8
    assert found["matching"] == 0  # a search finds a digest only by its beginning
    assert len(found["sorted"]) == 8
    assert found["slower"] == 1
    assert str(found["details"]).startswith("slower")
    assert found["detailCharts"] == 2
    assert found["requests"] == 0


@pytest.mark.browser
def test_hostile_texts_do_not_run_in_a_browser(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Script tags, entities and a megabyte of text are shown as text."""
    events = [
        {"statement": b"x", "digest": f"{n % 2:016x}", "class": "read", "flags": 0, "user": HOSTILE} for n in range(80)
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    hostile = HOSTILE + "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
    with duckdb.connect() as con:
        table = f"{tmp_path}/t.tape/digests.parquet"
        con.execute(f"CREATE TABLE d AS FROM '{table}'")
        con.execute("UPDATE d SET normalized = ?, sample = ?::BLOB", [hostile + "x" * 1_000_000, "y"])
        con.execute(f"COPY d TO '{table}' (FORMAT parquet)")
    run = make_run(tmp_path / "a.run", tape, [{"errno": 1064, "error": hostile} for _ in events])
    page = as_html(build(tape, [run], [run], Settings(samples=True)))
    found = in_browser(page, tmp_path, request, digest=f"{1:016x}", word="zzz")
    assert found["hacked"] is False
    assert found["rows"] == 2
    assert found["matching"] == 0
    assert found["requests"] == 0
    assert "window.hacked" in as_json(build(tape, [run], [run]))


FIRST = """
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const $ = (q) => document.querySelector(q), all = (q) => [...document.querySelectorAll(q)];
  const dots = () => all("#first .chart[data-name=digests] .mark-symbol.role-mark path");
  for (let i = 0; i < 200 && dots().length < %(digests)d; i++) await wait(50);
  const found = { dots: dots().length, names: all(".chart").map((c) => c.dataset.name) };
  found.under = all("#first .chart").map((c) => c.getBoundingClientRect().bottom);
  found.answer = $("#answer").getBoundingClientRect().bottom; found.first = $("#first").getBoundingClientRect().top;
  $("#search").value = "nothing that is there"; $("#search").dispatchEvent(new Event("input"));
  found.hidden = all("#digests tbody tr").length;
  const last = dots().at(-1), box = last.getBoundingClientRect();
  const at = { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
  ["pointerover", "pointermove"].forEach((name) => last.dispatchEvent(new PointerEvent(name, at)));
  for (let i = 0; i < 60 && !$("#vg-tooltip-element.visible"); i++) await wait(50);
  found.tooltip = ($("#vg-tooltip-element") || {}).textContent;
  last.dispatchEvent(new MouseEvent("click", at));
  for (let i = 0; i < 60 && !$("tr.chosen"); i++) await wait(50);
  const row = $("tr.chosen");
  found.row = row && row.id; found.rows = all("#digests tbody tr").length;
  found.visible = row && row.getBoundingClientRect().top >= 0 && row.getBoundingClientRect().bottom <= innerHeight;
  found.focus = row && row.contains(document.activeElement);
  return found;
})()
"""


@pytest.mark.long
@pytest.mark.browser
def test_charts_are_on_the_first_screen(report: Report, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """At 1280 by 900 pixels the charts are below the answer. Each dot has a description and links to its row."""
    file = tmp_path / "page.html"
    file.write_text(as_html(report), encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        chromium.resize(1280, 900)
        chromium.open(file.as_uri())
        found = chromium.run(FIRST % {"digests": len(report.digests)})
    assert found["dots"] == len(report.digests)
    assert found["names"][:3] == ["throughput", "p95", "digests"]
    assert len(found["names"]) == len(set(found["names"]))  # no name occurs twice
    assert found["answer"] <= found["first"]
    assert max(found["under"]) <= 900
    assert found["hidden"] == 0
    assert "slower" in found["tooltip"]
    assert "x2." in found["tooltip"] or "x3." in found["tooltip"]
    assert found["row"] == f"r{digest_name(5)}"  # the worst digest is drawn last
    assert found["rows"] == len(report.digests)
    assert found["visible"]
    assert found["focus"]


PHONE = """
(() => {
  const all = (q) => [...document.querySelectorAll(q)], cell = document.querySelector("#digests tbody td:nth-child(4)");
  return { wide: document.documentElement.scrollWidth, cut: all(".wide").filter((w) => w.scrollWidth > w.clientWidth + 1).length,
    outside: all("td, li, p, h2").filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length,
    label: getComputedStyle(cell, "::before").content, why: getComputedStyle(document.querySelector("td.verdict small")).fontSize };
})()
"""


@pytest.mark.browser
def test_page_fits_a_phone_screen(report: Report, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """At a width of 390 pixels nothing is cut off, in light and dark mode. Table rows become cards whose cells show
    their column names.
    """
    why = "other programs used 3.6 of 4 cores during B (A: 0.1); about 12 rounds in total are needed"
    digests = [entry_of(entry, {"why": why, "text": "select a_very_long_name_" * 9}) for entry in report.digests]
    rows: list[Variable] = [{"name": "a_name_of_some_length", "a": "x" * 300, "b": None, "topic": "memory"}]
    file = tmp_path / "page.html"
    file.write_text(as_html(replace(report, digests=digests, variables=rows)), encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        for dark in (False, True):
            chromium.resize(390, 844, dark)
            chromium.open(file.as_uri())
            found = chromium.run(PHONE)
            assert (found["wide"], found["cut"], found["outside"]) == (390, 0, 0)
            assert "p50 A" in found["label"]


@pytest.mark.long
@pytest.mark.browser
def test_no_column_is_cut_off_on_a4_paper(report: Report, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    why = "other programs used 3.6 of 4 cores during B (A: 0.1); about 12 rounds in total are needed"
    digests = [entry_of(entry, {"why": why, "text": "select a_very_long_name_" * 9}) for entry in report.digests]
    file = tmp_path / "page.html"
    file.write_text(as_html(replace(report, digests=digests)), encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        chromium.as_printed(A4_TEXT_PX)
        chromium.open(file.as_uri())
        found = chromium.run(PHONE)
        assert (found["cut"], found["outside"]) == (0, 0)

# SPDX-License-Identifier: Apache-2.0
"""The sweep page in a real browser: charts, hostile titles, and a complete table without JavaScript."""

from pathlib import Path

import pytest
from querytape.analyze import SweepLevel, sweep_page
from querytape.analyze.render.chart_library import chart_library

from tests.helpers.browser import browser

LEVELS = [SweepLevel(n, 1000 * n, n - 1, 10**9, 10**6, 2 * 10**6, 3 * 10**6 * n) for n in (1, 2, 4)]
SILENT = SweepLevel(8, 0, 0, 0, None, None, None)

DRAWN = """
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const all = (q) => [...document.querySelectorAll(q)];
  for (let i = 0; i < 200 && all(".chart[data-drawn]").length < 2; i++) {
    all(".chart").forEach((c) => { if (!c.dataset.drawn) c.scrollIntoView(); }); await wait(50);
  }
  return { svg: all(".chart[data-drawn] svg").length, rows: all("tbody tr").length,
    requests: performance.getEntriesByType("resource").length, hacked: window.hacked === 1 };
})()
"""


@pytest.mark.browser
def test_sweep_charts_are_drawn(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The page has charts of throughput and latency. A level without answers appears only in the table. The page loads
    nothing and runs no foreign script.
    """
    file = tmp_path / "sweep.html"
    file.write_text(sweep_page("</title><script>window.hacked=1</script>", [*LEVELS, SILENT]), encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        chromium.open(file.as_uri())
        seen = chromium.run(DRAWN)
    assert seen == {"svg": 2, "rows": 4, "requests": 0, "hacked": False}


def test_table_has_sessions_rates_and_quantiles_with_units() -> None:
    page = sweep_page("shop.tape on db1", [*LEVELS, SILENT]).replace(chart_library(), "")
    assert "<tr><td>4</td><td>4,000</td><td>1.00ms</td><td>2.00ms</td><td>12.0ms</td><td>3</td></tr>" in page
    assert "<tr><td>8</td><td>0</td><td>-</td><td>-</td><td>-</td><td>0</td></tr>" in page
    assert "http:" not in page
    assert "https:" not in page

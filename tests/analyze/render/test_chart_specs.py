# SPDX-License-Identifier: Apache-2.0
"""Charts: image files for slides, colours of the sides, and a sweep plotted over its levels."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.analyze import Report, SweepLevel, write_charts
from querytape.analyze.render.chart_specs import MAX_STALLS, file_name, report_charts, sweep_charts
from querytape.common.errors import InputError

from tests.helpers.shapes import answers_of

pytestmark = pytest.mark.slow


def test_every_chart_is_written_as_svg_and_png(report: Report, tmp_path: Path) -> None:
    write_charts(report, tmp_path / "charts")
    for name in ("digests", "throughput", "p95", "heat-a", "heat-b"):
        assert (tmp_path / "charts" / f"{name}.svg").read_text().startswith("<svg")
        assert (tmp_path / "charts" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="can't be written"):
        write_charts(report, tmp_path / "charts")


@pytest.mark.long
def test_title_lines_fit_the_width_of_the_chart(report: Report, tmp_path: Path) -> None:
    write_charts(report, tmp_path / "charts")
    for file in (tmp_path / "charts").glob("*.svg"):
        text = file.read_text(encoding="utf-8")
        width = float(re.findall(r'<svg [^>]*width="([\d.]+)"', text)[0])
        titles = re.findall(r"<g[^>]*role-title-text[^>]*>(.*?)</g>", text)
        lines = [line for title in titles for line in re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", title)]
        assert lines
        assert [line for line in lines if 10 * len(line) > width] == []


def test_chart_files_are_private_to_their_owner(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other users can never read a chart file. A counter name cannot place a chart file outside its folder."""
    seen: set[int] = set()
    real = os.fsync

    def look(descriptor: int) -> None:
        seen.update(path.stat().st_mode & 0o077 for path in (tmp_path / "charts").iterdir())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    before = os.umask(0)
    try:
        write_charts(report, tmp_path / "charts")
    finally:
        os.umask(before)
    assert seen == {0}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "charts").iterdir()} == {0o600}
    assert file_name("../../home/x\0\n") == "_home_x_"


def test_both_sides_are_drawn_as_lines(report: Report) -> None:
    """The chart of errors is drawn only if errors occurred."""
    charts = {chart.name: chart for chart in report_charts(report)}
    assert {row["line"] for row in charts["median"].spec["data"]["values"]} == {"A", "B"}
    assert "errors" not in charts


def stall(run: str, at_ns: int, long_ns: int) -> dict[str, object]:
    """Return a row in the format of stalls.sql."""
    return {"run": run, "round": 1, "at_ns": at_ns, "long_ns": long_ns}


def test_stalls_are_marked_at_their_time(small_report: Report) -> None:
    """The charts of throughput and p95 have a band for each stall, in the colour of its side. Other charts have none."""
    stalls = [stall("a", 10**9, 3 * 10**8), stall("b", 2 * 10**9, 10**8), stall("a", 4 * 10**9, 5 * 10**8)]
    report = replace(small_report, answers=answers_of(small_report.answers, stalls=stalls))
    charts = {chart.name: chart for chart in report_charts(report)}
    expected = [("A", 1.0, 1.3), ("B", 2.0, 2.1), ("A", 4.0, 4.5)]
    for name in ("throughput", "p95"):
        bands, lines, marks = charts[name].spec["layer"]
        assert [(row["line"], row["x"], row["x2"]) for row in bands["data"]["values"]] == expected
        assert marks["data"] == bands["data"]
        assert {row["line"] for row in lines["data"]["values"]} == {"A", "B"}
        assert bands["encoding"]["color"]["scale"] == lines["encoding"]["color"]["scale"]
        assert charts[name].title.endswith("; shaded: stalls")
    assert "layer" not in charts["median"].spec
    calm = replace(small_report, answers={**small_report.answers, "stalls": []})
    assert "layer" not in next(chart for chart in report_charts(calm) if chart.name == "p95").spec


def test_longest_stalls_are_marked(small_report: Report) -> None:
    """If there are thousands of stalls, the chart shows only the longest, sorted by time."""
    many = [stall("a", n * 10**9, (1 + n % 10) * 10**8) for n in range(3_000)]
    report = replace(small_report, answers=answers_of(small_report.answers, stalls=many))
    chart = next(chart for chart in report_charts(report) if chart.name == "throughput")
    shown = [band["x"] for band in chart.spec["layer"][0]["data"]["values"]]
    assert shown == [float(n) for n in range(3_000) if n % 10 == 9][:MAX_STALLS]


def test_counters_are_shown_as_percent_megabytes_or_per_second(small_report: Report) -> None:
    rows = [{"run": "a", "name": name, "bin": 0, "value": 2e6} for name in ("cpu user", "disk read", "pages flushed")]
    answers = answers_of(small_report.answers, series=rows)
    report = Report(small_report.tape, small_report.a, [], answers=answers, details=small_report.details)
    titles = {chart.name: chart.title for chart in report_charts(report)}
    assert titles["cpu-user"] == "CPU user, %"
    assert titles["disk-read"] == "Disk read, MB/s"
    assert titles["pages-flushed"] == "Pages flushed, /s"


def test_sweep_is_plotted_over_its_levels() -> None:
    """The levels of a sweep have equal distances on the axis. A level without answers has no latency."""
    levels = [SweepLevel(1, 10, 0, 10**9, 10**6, 10**6, 2 * 10**6), SweepLevel(4, 0, 0, 10**9, None, None, None)]
    throughput, latency = sweep_charts(levels)
    assert throughput.spec["encoding"]["x"]["axis"]["values"] == [1, 4]
    assert [row["y"] for row in throughput.spec["data"]["values"]] == [10, 0]
    assert [(row["line"], row["y"]) for row in latency.spec["data"]["values"]] == [("p50", 1), ("p99", 2)]

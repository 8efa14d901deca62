# SPDX-License-Identifier: Apache-2.0
"""What a report becomes: gates, JUnit, Markdown, tables, charts, the page in a real browser; and `querytape sql`."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest
from click.testing import CliRunner
from querytape.analyze import Report, Settings, as_json, as_markdown, build, render, write_charts, write_tables
from querytape.analyze.chart_library import chart_library
from querytape.cli_inspect import inspect_command
from querytape.cli_report import report_command
from querytape.cli_sql import sql_command
from querytape.errors import InputError
from querytape.gates import NAMES, check_gate, failed, junit, values

from tests.analyze.simulated import Machine, Workload, digest_name, simulate_run, simulate_tape
from tests.analyze.test_report import HOSTILE
from tests.browser import browser
from tests.runs import make_run
from tests.tapes import make_tape

LOAD = Workload(digests=8, repeats=200)
CALM = Machine(wander=0.0, stalls=0.0, bad_second=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A tape, and two runs of it: one digest is three times slower on the second."""
    folder = tmp_path_factory.mktemp("outputs")
    tape = simulate_tape(folder / "t.tape", LOAD)
    slow = Machine(wander=0.0, stalls=0.0, bad_second=False, effects={5: lambda chance, ms: ms * 3})
    return (
        tape,
        simulate_run(folder / "a.run", tape, LOAD, CALM, 1),
        simulate_run(folder / "b.run", tape, LOAD, slow, 2),
    )


@pytest.fixture(scope="module")
def report(runs: tuple[Path, Path, Path]) -> Report:
    """Both compared."""
    return build(runs[0], [runs[1]], [runs[2]])


@pytest.mark.parametrize(
    ("gate", "broken"),
    [
        ("slower > 0 or new_errors > 0", ["slower > 0"]),
        ("slower > 1", []),
        ("new_errors > 0 or p99_ratio > 100", []),
        ("slower >= 1 and p50_ratio < 100", ["slower >= 1 and p50_ratio < 100"]),
        ("not slower", []),
        ("0 < slower < 2", ["0 < slower < 2"]),
    ],
)
def test_gates(report: Report, gate: str, broken: list[str]) -> None:
    """Comparisons of what is known; each part of an `or` that holds is named."""
    check_gate(gate)
    assert failed(gate, values(report)) == broken
    assert set(values(report)) == set(NAMES)


@pytest.mark.parametrize(
    "gate",
    [
        "slower >",
        "__import__('os')",
        "slower.real > 0",
        "[1] > 0",
        "slow > 0",
        "slower ** 9",
        "slower in (1, 2)",
        "'a' > 1",
    ],
)
def test_gates_run_nothing_else(gate: str) -> None:
    """Anything but numbers, names and comparisons is refused, before anything is run."""
    with pytest.raises(InputError, match="--fail-on"):
        check_gate(gate)


def test_junit(report: Report) -> None:
    """A case for each digest, failed where it is slower; the gate is a case of its own."""
    tree = ElementTree.fromstring(junit(report, ["slower > 0"]).split("\n", 1)[1])
    assert (tree.get("tests"), tree.get("failures")) == ("9", "2")
    named = [case.get("name", "")[:16] for case in tree if case.find("failure") is not None]
    assert named == [digest_name(5), "--fail-on"]


def test_exit_codes(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """3 for a gate, 2 for usage, 1 for a fault."""
    paths = [str(path) for path in runs]
    for arguments, code in (
        ([*paths, "--fail-on", "slower > 0"], 3),
        ([*paths, "--fail-on", "slower > 1"], 0),
        ([*paths, "--margin", "much"], 2),
        ([paths[0]], 2),
    ):
        result = CliRunner().invoke(report_command, arguments, standalone_mode=code != 2 and False)
        got = result.return_value if result.exception is None else getattr(result.exception, "exit_code", 1)
        assert got == code, result.output
    missing = CliRunner().invoke(report_command, [str(tmp_path / "none"), paths[1]])
    assert missing.exit_code == 1


def test_markdown(report: Report) -> None:
    """The answer, the statement, the totals."""
    text = as_markdown(report)
    assert "**No: 1 of 8 digests is slower" in text
    assert "| **slower**: x" in text
    assert "| service p50 |" in text


def test_tables_and_charts(report: Report, tmp_path: Path) -> None:
    """Every table can be read again; every chart is there as SVG and PNG."""
    write_tables(report, tmp_path / "tables")
    write_charts(report, tmp_path / "charts")
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT digest, verdict FROM '{tmp_path}/tables/verdicts.parquet' WHERE verdict = 'slower'"
        ).fetchall()
        assert rows == [(digest_name(5), "slower")]
        assert con.execute(f"SELECT count(*) FROM '{tmp_path}/tables/totals.csv'").fetchall() == [(2,)]
    for name in ("throughput", "p95", "heat-a", "heat-b"):
        assert (tmp_path / "charts" / f"{name}.svg").read_text().startswith("<svg")
        assert (tmp_path / "charts" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="can't be written"):
        write_charts(report, tmp_path / "charts")


def test_sql(runs: tuple[Path, Path, Path]) -> None:
    """A run's tables and its tape's, as rows, CSV or JSON; a fault is a sentence."""
    count = "SELECT count(*) AS n FROM outcomes JOIN tape_events USING (session, seq)"
    for shape, wanted in (("csv", "n\n1600\n"), ("json", '{"n": 1600}\n')):
        found = CliRunner().invoke(sql_command, [str(runs[1]), "--format", shape, "-c", count])
        assert found.output == wanted
    assert "1600" in CliRunner().invoke(sql_command, [str(runs[1]), "-c", count]).output
    assert (
        CliRunner()
        .invoke(sql_command, [str(runs[0]), "--format", "csv", "-c", "SELECT count(*) AS n FROM digests"])
        .output
        == "n\n8\n"
    )
    fault = CliRunner().invoke(sql_command, [str(runs[1]), "-c", "FROM nowhere"])
    assert isinstance(fault.exception, InputError)


def test_two_tapes(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """What is new on the second and what is gone, by statements an hour."""
    other = simulate_tape(tmp_path / "o.tape", Workload(digests=4, repeats=200))
    found = CliRunner().invoke(inspect_command, [str(other), "--against", str(runs[0]), "--json"])
    changed = json.loads(found.output)
    assert len(changed["digests"]) == 8
    assert sorted(row["events_b"] for row in changed["digests"]) == [0, 0, 0, 0, 200, 200, 200, 200]
    shown = CliRunner().invoke(inspect_command, [str(other), "--against", str(runs[0])])
    assert "0 digests are new on B, 4 are gone" in shown.output


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
  for (let i = 0; i < 100 && all("#page .chart svg").length < 2; i++) await wait(50);
  found.page = !$("#page").hidden && $("#page h2").textContent;
  found.pageCharts = all("#page .chart svg").length;
  found.requests = performance.getEntriesByType("resource").length;
  found.hacked = window.hacked === 1;
  return found;
})()
"""


def in_browser(page: str, tmp_path: Path, request: pytest.FixtureRequest, digest: str, word: str) -> dict[str, Any]:
    """Open a page, use it, and return what was seen."""
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    with browser(tmp_path, request) as chromium:
        chromium.open(file.as_uri())
        found: dict[str, Any] = chromium.run(PROBE % {"digest": digest, "word": word})
    return found


def test_the_page_in_a_browser(report: Report, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Charts are drawn, search, sort and verdicts work, a digest has its page, nothing is asked of the network."""
    found = in_browser(render(report, "1"), tmp_path, request, digest=digest_name(5), word=digest_name(5)[-6:])
    assert found["drawn"] == found["charts"] > 4, found
    assert found["rows"] == 8
    assert found["matching"] == 0  # a digest is found from its beginning
    assert len(found["sorted"]) == 8
    assert found["slower"] == 1
    assert str(found["page"]).startswith("slower")
    assert found["pageCharts"] == 2
    assert found["requests"] == 0


def test_hostile_texts_in_a_browser(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Script tags, entities, a megabyte: shown as text, nothing of it runs."""
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
    page = render(build(tape, [run], [run], Settings(samples=True)), "1")
    found = in_browser(page, tmp_path, request, digest=f"{1:016x}", word="zzz")
    assert found["hacked"] is False
    assert found["rows"] == 2
    assert found["matching"] == 0
    assert found["requests"] == 0
    assert "window.hacked" in as_json(build(tape, [run], [run]))


def test_the_chart_library_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script is kept for the next report; where nothing can be kept it is made all the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chart_library.cache_clear()
    made = chart_library()
    (kept,) = (tmp_path / "querytape").iterdir()
    assert "vegaEmbed" in made
    assert "</script" not in made
    kept.write_text("kept")
    chart_library.cache_clear()
    assert chart_library() == "kept"
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    chart_library.cache_clear()
    assert chart_library() == made

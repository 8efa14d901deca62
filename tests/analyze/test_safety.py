# SPDX-License-Identifier: Apache-2.0
"""Safety of outputs: literal values from the tape stay hidden, and hostile texts do no harm."""

import json
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest
from querytape.analyze import (
    Settings,
    as_html,
    as_json,
    as_junit,
    as_markdown,
    build,
    write_tables,
)
from querytape.analyze.render.chart_library import chart_library

from tests.helpers.reports import D1, D2, HOSTILE, small_runs, terminal_text
from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


class Loads(HTMLParser):
    """Collects the scripts and resources that a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record scripts and attributes that load a resource or run code."""
        self.scripts += tag == "script"
        for name, value in attrs:
            if name in ("src", "href", "action", "data") and not (value or "").startswith("#"):
                self.loads.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.loads.append(f"{tag} {name}")


def test_hostile_text_does_no_harm(tmp_path: Path) -> None:
    """No output is affected by script tags, terminal escapes, markup or a megabyte of statement text."""
    events = [
        {"statement": b"x", "digest": d, "class": "read", "flags": 0, "user": HOSTILE, "db": HOSTILE}
        for d in (D1, D2) * 3
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    write_digests(tape, {D1: HOSTILE, D2: "select " + "x" * 1_000_000}, {D1: HOSTILE.encode() + b"\xff\xfe", D2: b"y"})
    outcomes = [{"errno": 1064, "error": HOSTILE} for _ in events]
    run = make_run(tmp_path / "a.run", tape, outcomes, target={"name": HOSTILE, "version": HOSTILE}, partial=HOSTILE)
    report = build(tape, [run], [run], Settings(samples=True))
    text = terminal_text(report)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    page = as_html(report)
    parser = Loads()
    parser.feed(page)
    assert parser.scripts == 3  # data, chart library, own script
    assert parser.loads == []
    ours = page.replace(chart_library(), "")
    assert len(ours) < len(page)
    assert "\x1b" not in ours
    assert "http:" not in ours
    assert "https:" not in ours
    json.loads(as_json(report))


def test_sample_literals_appear_only_with_samples(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"x", "digest": D1, "class": "read", "flags": 0}])
    write_digests(tape, {D1: "select ?"}, {D1: b"SELECT 'hunter2'"})
    run = make_run(tmp_path / "a.run", tape, [{}])
    plain, full = build(tape, [run]), build(tape, [run], settings=Settings(samples=True))
    assert "hunter2" not in as_html(plain) + as_json(plain) + terminal_text(plain)
    assert "hunter2" in as_html(full)
    assert "hunter2" in as_json(full)


def test_literal_values_are_hidden_without_samples(tmp_path: Path) -> None:
    """Without --samples, no report contains values from error messages, sample statements or plan conditions."""
    paths = small_runs(tmp_path)
    plan = {
        "query_block": {"table": {"table_name": "t", "access_type": "ALL", "attached_condition": "t.a = 'hunter2'"}}
    }
    for run in paths[1:]:
        with duckdb.connect() as con:
            con.execute(
                "CREATE TABLE p AS SELECT ? AS digest, 'json' AS kind, ? AS text, NULL::VARCHAR AS error",
                [f"{0:016x}", json.dumps(plan)],
            )
            con.execute("INSERT INTO p VALUES (?, 'tree', 'Filter: (t.a = ''hunter2'')', NULL)", [f"{0:016x}"])
            con.execute(f"COPY p TO '{run}/query_plans.parquet' (FORMAT parquet)")
    for samples in (False, True):
        report = build(paths[0], [paths[1]], [paths[2]], Settings(samples=samples))
        write_tables(report, tmp_path / f"{samples}")
        texts = [as_json(report), as_markdown(report), as_html(report), terminal_text(report), as_junit(report, [])]
        texts += [path.read_text() for path in (tmp_path / f"{samples}").glob("*.csv")]
        for value in ("bob", "hunter2"):
            assert any(value in text for text in texts) == samples, value

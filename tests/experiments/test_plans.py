# SPDX-License-Identifier: Apache-2.0
"""Query plans of two servers: the contents of the plans folder, its report, and servers that cannot be asked."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.analyze import build_plans, plans_json, plans_markdown, plans_page, show_plans
from querytape.common.errors import TargetError
from querytape.experiments import plans
from querytape.experiments.plans import PlanOptions, ask_plans
from querytape.replay import Target, parse_target
from querytape.servers.sandbox import Server

from tests.helpers.duck import database
from tests.helpers.reports import printed
from tests.helpers.tapes import MS, make_tape

KEYED, SORTED, BROKEN, SAME = (f"{n:016x}" for n in (1, 2, 3, 4))


def tape_of(path: Path) -> Path:
    """Create a tape of four digests with ten statements each."""
    events = []
    for n in range(10):
        events += [
            {"statement": f"SELECT * FROM o WHERE u = {n}", "digest": KEYED, "duration_ns": 6 * MS, "db": "shop"},
            {
                "statement": f"SELECT * FROM o ORDER BY d LIMIT {n + 1}",
                "digest": SORTED,
                "duration_ns": 3 * MS,
                "db": "shop",
            },
            {"statement": f"SELECT gone FROM o WHERE id = {n}", "digest": BROKEN, "duration_ns": MS, "db": "shop"},
            {"statement": f"SELECT * FROM o WHERE id = {n}", "digest": SAME, "duration_ns": MS, "db": "shop"},
        ]
    return make_tape(path, events)


def make_sides(server: Server) -> dict[str, dict[str, str]]:
    """Create two schemas on one server. The second schema lacks two indexes and a column."""
    for side, more in (("a", ", gone INT, KEY k_u (u), KEY k_d (d)"), ("b", "")):
        server.execute(f"CREATE OR REPLACE DATABASE qt_plans_{side}")
        server.execute(f"CREATE TABLE qt_plans_{side}.o (id INT PRIMARY KEY, u INT, d INT{more})")
        fill = "INSERT INTO o (id, u, d) SELECT seq, seq % 900, seq FROM seq_1_to_3000"
        server.execute(fill, db=f"qt_plans_{side}")
        server.execute(f"ANALYZE TABLE qt_plans_{side}.o")
    return {side: {"shop": f"qt_plans_{side}"} for side in "ab"}


@pytest.mark.server
def test_plans_of_two_servers(mariadb: Server, tmp_path: Path) -> None:
    """Classes are sorted by their time on the tape, and the causes come first in the report. Errors contain no
    literals. All output formats have equal contents.
    """
    tape, schemas = tape_of(tmp_path / "t.tape"), make_sides(mariadb)
    target = parse_target(mariadb.url(), environ={})
    told: list[tuple[int, int]] = []
    folder = ask_plans(
        tape, {"a": target, "b": target}, tmp_path / "p", PlanOptions(schemas=schemas), lambda *n: told.append(n)
    )
    assert folder.info["digests"] == 4
    assert told[-1] == (9, 9)
    report = build_plans(folder.path)
    assert [(entry["digest"], entry["class"]) for entry in report.digests] == [
        (KEYED, "now a scan"),
        (SORTED, "other access"),
        (BROKEN, "fails"),
        (SAME, "same"),
    ]
    assert report.digests[0]["share"] == pytest.approx(6 / 11)
    assert report.digests[2]["changes"] == ["EXPLAIN fails in B: error 1054"]
    assert {"B lacks index k_u on o (u)", "B lacks column gone on o"} <= {each.text for each in report.servers.shown}
    shown = printed(show_plans, report)
    for text in (shown, plans_markdown(report), plans_page(report), plans_json(report)):
        assert "3 of 4 digests have different plans in B" in text
        assert text.index("B lacks index k") < text.index("3 of 4") or text[0] == "{"
        assert "select * from o where u =" in text
    assert max(map(len, shown.splitlines())) <= 80
    assert json.loads(plans_json(report))["classes"] == {"fails": 1, "now a scan": 1, "other access": 1, "same": 1}


@pytest.mark.server
def test_statements_for_which_no_time_remained_are_reported(mariadb: Server, tmp_path: Path) -> None:
    """The plans report states how many statements were explained. It does not call the remaining statements "the same"."""
    tape, schemas = tape_of(tmp_path / "t.tape"), make_sides(mariadb)
    target = parse_target(mariadb.url(), environ={})
    folder = ask_plans(tape, {"a": target, "b": target}, tmp_path / "p", PlanOptions(all_s=-1, schemas=schemas))
    report = build_plans(folder.path)
    assert any("0 of 9 statements" in text for text in report.limits), report.limits
    assert any("4 digests were not explained" in text for text in report.limits)
    assert not report.digests


def test_unreachable_server_leaves_no_folder(tmp_path: Path) -> None:
    target = parse_target("mysql://root@/x?socket=/nowhere/s", environ={})
    with pytest.raises(TargetError, match="cannot connect"):
        ask_plans(tape_of(tmp_path / "t.tape"), {"a": target, "b": target}, tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_error_names_the_failed_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that disappears during the comparison is named exactly once in the message."""
    sides = {side: parse_target(f"mysql://{side}@127.0.0.1:1", environ={}) for side in "ab"}

    def ends(target: Target, *_: object) -> Iterator[int]:
        yield from (1, 2)
        if target.user == "b":
            raise TargetError("2013 Lost connection")

    monkeypatch.setattr(plans, "_ask", ends)
    with pytest.raises(TargetError, match=r"^B \(b@127\.0\.0\.1:1\): 2013 Lost connection$"):
        ask_plans(tape_of(tmp_path / "t.tape"), sides, tmp_path / "p")
    assert not (tmp_path / "p").exists()
    monkeypatch.undo()
    with pytest.raises(TargetError, match=r"^cannot connect to a@127\.0\.0\.1:1: "):
        ask_plans(tape_of(tmp_path / "u.tape"), sides, tmp_path / "p")


@pytest.mark.sampled
@pytest.mark.server
def test_counters_are_measured_if_plans_agree(server: Server, tmp_path: Path) -> None:
    """Both servers use the same plan and read all rows, but the table in B has more rows. Statements with different
    plans are not executed.
    """
    for side, rows in (("a", 20), ("b", 2000)):
        server.execute(f"DROP DATABASE IF EXISTS qt_work_{side}")
        server.execute(f"CREATE DATABASE qt_work_{side}")
        server.execute(f"CREATE TABLE qt_work_{side}.o (id INT PRIMARY KEY, u INT, d INT, KEY u (u))")
        values = ", ".join(f"({n}, {n % 9}, {n})" for n in range(rows))
        server.execute(f"INSERT INTO qt_work_{side}.o VALUES {values}")
    server.execute("ALTER TABLE qt_work_b.o DROP KEY u")
    for side in "ab":
        server.execute(f"ANALYZE TABLE qt_work_{side}.o")
    texts = {
        KEYED: "SELECT id FROM o WHERE u = 3",
        SORTED: "SELECT sum(d) FROM o",
        BROKEN: "UPDATE o SET d = d + 1",
        SAME: "SELECT d FROM o WHERE id = 3",
    }
    events = [{"statement": text, "digest": digest, "db": "shop"} for digest, text in texts.items()]
    tape, target = make_tape(tmp_path / "t.tape", events), parse_target(server.url(), environ={})
    schemas = {side: {"shop": f"qt_work_{side}"} for side in "ab"}
    options = PlanOptions(schemas=schemas, count=(KEYED, SORTED, BROKEN))
    folder = ask_plans(tape, {"a": target, "b": target}, tmp_path / "p", options)
    with database() as con:
        rows = con.execute(f"SELECT side, digest, text, error FROM {folder.source('plans')} WHERE kind = 'counters'")
        found = {row[:2]: row[2:] for row in rows.fetchall()}
    assert sorted(found) == [(side, digest) for side in "ab" for digest in (SORTED, BROKEN)]
    assert found["a", BROKEN] == (None, "not run: the statement writes or locks")
    report = build_plans(folder.path)
    ((entry, sentence),) = report.other_work
    assert entry["digest"] == SORTED
    assert re.fullmatch(r"plans agree; for each execution B reads 2,00[0-3] rows, A 2[0-3]", sentence)
    shown = printed(show_plans, report)
    for text in (shown, plans_markdown(report), plans_page(report), plans_json(report)):
        assert sentence in text
    assert server.execute("SELECT sum(d) FROM qt_work_a.o") == ((sum(range(20)),),)
    nothing = ask_plans(tape, {"a": target, "b": target}, tmp_path / "n", PlanOptions(schemas=schemas))
    assert build_plans(nothing.path).other_work == []

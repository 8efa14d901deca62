# SPDX-License-Identifier: Apache-2.0
"""A tape that is replayed on a server version and on the next version. The report contains the plans of both versions,
and the rows are equal.
"""

from pathlib import Path

import pytest
from querytape.analyze import as_html, build
from querytape.analyze.findings.headline import headline
from querytape.replay import replay

from tests.conftest import ServerFactory
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options

PAIRS = (("mysql-5.7", "mysql-8.0"), ("mysql-8.0", "mysql-9"), ("mariadb", "mysql-8.0"))
READ, WRITE, BROKEN = (f"{n:016x}" for n in range(1, 4))


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_upgrade_gives_equal_rows_and_reports_new_errors(
    before: str, after: str, server_factory: ServerFactory, tmp_path: Path
) -> None:
    """A statement that only one of the versions understands is reported as "errors changed"."""
    events = []
    for number in range(240):
        at = {"session": 1 + number % 4, "start_ns": T0 + number * 10 * MS, "db": "shop"}
        if number % 3 == 0:
            text = f"SELECT b FROM t WHERE a BETWEEN {number:03d} AND {number + 20:03d} ORDER BY b"
            events.append({**at, "statement": text, "digest": READ})
        elif number % 3 == 1:
            events.append(
                {**at, "statement": f"UPDATE t SET b = {number} WHERE a = {number}", "digest": WRITE, "class": "write"}
            )
        else:
            events.append({**at, "statement": "SELECT missing FROM t", "digest": BROKEN})
    tape = make_tape(tmp_path / "t.tape", events)
    runs = []
    for number, kind in enumerate((before, after)):
        server = server_factory(kind)
        server.execute("CREATE DATABASE shop")
        server.execute("CREATE TABLE shop.t (a INT PRIMARY KEY, b INT)")
        server.execute("INSERT INTO shop.t VALUES " + ", ".join(f"({n}, {n * 7 % 300})" for n in range(300)))
        summary = replay(tape, options(server, tmp_path / f"{number}.run", lead_ns=200 * MS))
        assert summary.complete
        runs.append(summary.path)
    report = build(tape, runs[:1], runs[1:])
    assert report.answers["results"] == []
    assert {row["what"] for row in report.answers["errors"]} == {"same"}
    assert {"a", "b"} <= set(report.query_plans[READ])
    assert "json" in report.query_plans[READ]["a"]
    assert "json" in report.query_plans[READ]["b"]
    assert any(row["name"] == "version" for row in report.variables)
    if after != "mariadb":
        assert report.query_plans[READ]["server_digest"].get("b")
    assert headline(report) is not None
    assert f"{READ}" in as_html(report)

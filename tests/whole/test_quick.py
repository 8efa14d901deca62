# SPDX-License-Identifier: Apache-2.0
"""`compare --quick` of two servers. It sends only reads, and finds a dropped index, changed rows and a dropped table."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.cli.commands.compare import compare_command
from querytape.cli.commands.report import report_command
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.tapes import MS, make_tape
from tests.helpers.tiers import mostly_long

KEYED, NAMED, GONE, PLAIN, PREPARED, WRITE, LOCKING, STORED, MODE = (f"{n:016x}" for n in range(1, 10))
TEXTS = {
    KEYED: "SELECT COUNT(*), MAX(hash) FROM t WHERE customer = {n}",
    NAMED: "SELECT name FROM t WHERE id BETWEEN {n} AND {n} + 9",
    GONE: "SELECT x FROM gone WHERE x = {n}",
    PLAIN: 'SELECT "{n}", @@sql_mode LIKE "%ANSI%" FROM t LIMIT 1',
    WRITE: "UPDATE t SET name = 'changed' WHERE id = {n}",
    LOCKING: "SELECT name FROM t WHERE id = {n} FOR UPDATE",
    STORED: "SELECT spend({n})",
}


def prepare(server: Server) -> None:
    digits = "(SELECT 0 AS i UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6)"
    server.execute("CREATE DATABASE shop DEFAULT CHARSET utf8")
    with closing(server.connect("shop")) as con, con.cursor() as cursor:
        for statement in (
            "CREATE TABLE t (id INT PRIMARY KEY, customer INT, name VARCHAR(40), hash VARCHAR(128), KEY k (customer))",
            "INSERT INTO t SELECT n, n % 1600, CONCAT('n', n), SHA2(n, 512) FROM (SELECT a.i + 7 * b.i + 49 * c.i"
            " + 343 * d.i + 2401 * e.i AS n FROM"
            f" {digits} a, {digits} b, {digits} c, {digits} d, {digits} e) AS numbers",
            "CREATE TABLE gone (x INT)",
            "CREATE TABLE spent (n INT)",
            "CREATE FUNCTION spend(a INT) RETURNS INT DETERMINISTIC NO SQL RETURN a",
        ):
            cursor.execute(statement)


def tape_of(path: Path) -> Path:
    """Make a tape of text and prepared statements. One of its two sessions has the sql_mode ANSI."""
    events: list[dict[str, Any]] = [
        {"session": 1, "statement": "SET sql_mode = ''", "class": "session", "digest": MODE},
        {
            "session": 2,
            "command": "prepare",
            "statement": "SELECT name FROM t WHERE id = ?",
            "digest": PREPARED,
            "stmt": 3,
        },
    ]
    for number in range(210):
        digest = list(TEXTS)[number % 7]
        text = TEXTS[digest].format(n=7 * (number // 7) % 1600)
        kind = "write" if digest == WRITE else "read"
        events.append(
            {"session": 1, "statement": text, "digest": digest, "class": kind, "duration_ns": MS, "db": "shop"}
        )
    for value in (5, 6, 7):
        params = b"E\1\0\1\0\0\0\0\1\1\0" + bytes([value])
        events.append(
            {
                "session": 2,
                "command": "execute",
                "statement": "SELECT name FROM t WHERE id = ?",
                "digest": PREPARED,
                "stmt": 3,
                "params": params,
                "db": "shop",
                "duration_ns": MS,
            }
        )
    return make_tape(path, events)


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after"), mostly_long([("mariadb", "mariadb"), ("mysql-5.7", "mysql-8.0")], ("mariadb", "mariadb"))
)
def test_quick_mode_finds_three_planted_differences(
    before: str, after: str, server_factory: ServerFactory, tmp_path: Path
) -> None:
    """The report contains no other difference. It first lists the statements that were not sent."""
    a, b = server_factory(before), server_factory(after)
    for server in (a, b):
        prepare(server)
    b.execute("ALTER TABLE t DROP KEY k", db="shop")
    b.execute("DROP TABLE gone", db="shop")
    b.execute("UPDATE t SET name = UPPER(name) WHERE id IN (0, 203)", db="shop")
    folder, file = tmp_path / "c", tmp_path / "r.json"
    words = [str(tape_of(tmp_path / "t.tape")), "--quick", "--within", "10s", "-o", str(folder), "--json", str(file)]
    for side, server in (("a", a), ("b", b)):
        words += ["--target", f"{side}={server.url('shop')}"]
    gate = ["--fail-on", "new_errors > 0"]
    done = CliRunner().invoke(compare_command, [*words, *gate], standalone_mode=False, catch_exceptions=False)
    assert done.return_value == 3
    report = json.loads(file.read_text())
    lines = " ".join(done.stdout.split())
    assert lines.startswith("quick: 5 digests of reads were compared (")
    for reason in ("writes 1 (", "reads that lock 1 (", "reads that call stored functions 1 ("):
        assert 0 < lines.index(reason) < lines.index(str(folder)), "before all else"
    verdicts = {row["digest"]: row["verdict"] for row in report["digests"]}
    assert set(verdicts) == {KEYED, NAMED, GONE, PLAIN, PREPARED} | ({MODE} if MODE in verdicts else set())
    assert verdicts[GONE] == "errors changed"
    assert {row["digest"] for row in report["errors"] if row["what"] == "new"} == {GONE}
    results = {(row["digest"], row["kind"]) for row in report["results"]}
    assert results - {(MODE, "warnings")} == {(NAMED, "data")}, "a SET may warn on one version"
    assert verdicts[KEYED] not in ("same", "faster")
    assert not [digest for digest in (NAMED, PLAIN, PREPARED) if verdicts[digest] == "slower"]
    named = [row["text"] for row in report["servers"]["differences"] if not row["folded"]]
    assert any(text.startswith("B lacks index k on t (customer)") for text in named)
    assert any(text.startswith("B lacks the table gone") for text in named)
    for server in (a, b):
        assert server.execute("SELECT COUNT(*) FROM t WHERE name = 'changed'", db="shop") == ((0,),)
    again = CliRunner().invoke(report_command, [str(folder)], standalone_mode=False, catch_exceptions=False)
    assert "not compared: " in again.stdout
    assert [row["status"] for row in report["accounting"]].count("not_sent") == 0

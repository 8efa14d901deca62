# SPDX-License-Identifier: Apache-2.0
"""Real regressions on real servers: each is found, named and explained, and nothing else is; equal servers give none."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.analyze import Margin, Report, Settings, build
from querytape.analyze.findings.headline import headline
from querytape.cli.commands.compare import compare_command
from querytape.cli.commands.report import report_command
from querytape.replay import replay
from querytape.servers.sandbox import Server, start_server

from tests.helpers.chance import repeated
from tests.helpers.tapes import MS, SECOND, T0, make_tape
from tests.helpers.whole import options

pytestmark = pytest.mark.long

ROWS = 30_000
SECONDS = 6
REPEATS, TOLERATED = 3, 1  # comparisons, and how many of them what else the machine does may spoil
LOOKUP, KEYED, SORTED, GROUPED, WRITTEN = (f"{n:016x}" for n in range(1, 6))
FILL = "INSERT INTO t SELECT seq, seq % 3000, seq % 7, SHA2(seq, 512), REPEAT(MD5(seq), 4) FROM seq_1_to_{rows}"


def prepare(server: Server) -> None:
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute(
        "CREATE TABLE shop.t (id INT PRIMARY KEY, customer INT, kind INT, hash VARCHAR(128), note VARCHAR(200), KEY (customer))"
    )
    server.execute(FILL.format(rows=ROWS), db="shop")
    server.execute("CREATE TABLE shop.w (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    server.execute("ANALYZE TABLE shop.t", db="shop")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Server]]:
    """Two servers of the same kind and configuration."""
    config = {"innodb-buffer-pool-size": "128M", "innodb-flush-log-at-trx-commit": "0", "sort-buffer-size": "2M"}
    with ExitStack() as stack:
        servers = [stack.enter_context(start_server("mariadb", config=config)) for _ in range(2)]
        yield servers[0], servers[1]


@pytest.fixture(autouse=True)
def fresh(pair: tuple[Server, Server]) -> None:
    """Every test begins with the same data."""
    for server in pair:
        prepare(server)


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six seconds of four kinds of reads and a write, by six sessions."""
    statements = (
        (LOOKUP, "SELECT hash FROM t WHERE id = {n}", "read"),
        (KEYED, "SELECT COUNT(*), MAX(hash) FROM t WHERE customer = {c}", "read"),
        (SORTED, "SELECT id, note FROM t WHERE id BETWEEN {n} AND {n} + 1500 ORDER BY hash LIMIT 700", "read"),
        (GROUPED, "SELECT kind, hash FROM t WHERE id < 40 + {c} % 3 GROUP BY kind", "read"),
        (WRITTEN, "INSERT INTO w (v) VALUES ({n})", "write"),
    )
    events = []
    for number in range(SECONDS * 400):
        digest, text, class_ = statements[number % 5]
        place = number * 7919
        events.append(
            {
                "session": 1 + number % 6,
                "start_ns": T0 + number * SECOND // 400,
                "statement": text.format(n=10_000 + place % (ROWS - 12_000), c=1000 + place % 2000),
                "digest": digest,
                "class": class_,
                "db": "shop",
            }
        )
    return make_tape(tmp_path_factory.mktemp("tape") / "r.tape", events)


@contextmanager
def beside(action: Callable[[], None] | None) -> Iterator[None]:
    """Run the action in a thread of its own during the block."""
    thread = threading.Thread(target=action or (lambda: None))
    thread.start()
    try:
        yield
    finally:
        thread.join()


def judged(
    pair: tuple[Server, Server],
    tape: Path,
    folder: Path,
    as_planted: Callable[[Report], bool],
    beside_b: Callable[[], None] | None = None,
) -> Report:
    """Replay on both and compare, three times, each in fresh rounds; return a report that has what was planted."""

    def once(number: int) -> Report:
        runs = {}
        for name in ("ab", "ba")[number % 2]:
            given = options(pair["ab".index(name)], folder / f"{name}{number}.run", lead_ns=200 * MS)
            with beside(beside_b if name == "b" else None):
                summary = replay(tape, given)
            assert summary.complete
            runs[name] = [summary.path]
            time.sleep(0.5)
        return build(tape, runs["a"], runs["b"])

    return repeated(REPEATS, TOLERATED, once, as_planted)


def words(report: Report) -> dict[str, str]:
    """Return the verdicts that say something."""
    return {e["digest"]: e["verdict"] for e in report.digests if e["verdict"] in ("slower", "errors changed")}


def different(report: Report) -> set[tuple[str, str | None, str | None]]:
    """Return the server variables that differ: name, value of A, value of B."""
    return {(row["name"], row["a"], row["b"]) for row in report.variables}


def test_a_dropped_index(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """Slower, with the plan that tells why; the gate fails with 3, the JUnit file names it."""
    pair[1].execute("ALTER TABLE shop.t DROP KEY customer")
    report = judged(pair, tape, tmp_path, lambda found: words(found) == {KEYED: "slower"})
    assert words(report)[KEYED] == "slower"
    assert report.digests[0]["digest"] == KEYED  # on a machine without a free core its scans slow the others, too
    assert set(words(report).values()) == {"slower"}
    assert any("t: ref by customer" in text and "a full scan" in text for text in report.query_plans[KEYED]["changes"])
    answer, sentence, _ = headline(report) or ("", "", ())
    assert answer == "no"
    assert "of 5 digests" in sentence
    arguments = [str(tape), str(report.a[0].path), str(report.b[0].path), "--junit", str(tmp_path / "j.xml")]
    found = CliRunner().invoke(
        report_command, [*arguments, "--fail-on", "slower > 0 or p99_ratio > 100"], standalone_mode=False
    )
    assert found.return_value == 3
    assert "--fail-on: slower > 0\n" in found.output
    assert f'name="{KEYED}' in (tmp_path / "j.xml").read_text()


def test_a_small_sort_buffer(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """What sorts is slower or fails for want of memory, and the variable is among those that differ."""
    before = pair[1].execute("SELECT @@GLOBAL.sort_buffer_size")[0][0]
    pair[1].execute("SET GLOBAL sort_buffer_size = 1024")
    try:
        report = judged(pair, tape, tmp_path, lambda found: set(words(found)) == {SORTED})
    finally:
        pair[1].execute(f"SET GLOBAL sort_buffer_size = {before}")
    assert set(words(report)) == {SORTED}
    assert ("sort_buffer_size", str(before), "1024") in different(report)


def test_another_sql_mode(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """New errors, with number, message and the first event; no value is in the message."""
    before = pair[1].execute("SELECT @@GLOBAL.sql_mode")[0][0]
    pair[1].execute(f"SET GLOBAL sql_mode = '{before},ONLY_FULL_GROUP_BY'")
    try:
        report = judged(pair, tape, tmp_path, lambda found: words(found) == {GROUPED: "errors changed"})
    finally:
        pair[1].execute(f"SET GLOBAL sql_mode = '{before}'")
    assert words(report) == {GROUPED: "errors changed"}
    (row,) = report.answers["errors"]
    assert (row["what"], row["before"], row["after"]) == ("new", 0, 1055)
    assert row["events"] == SECONDS * 400 // 5
    assert row["first_seq"] >= 1
    assert any(row["name"] == "sql_mode" for row in report.variables)


def test_a_lock_that_is_held(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """Two seconds without a write are listed as a stall, with what waited; it is no regression of the reads."""

    def hold() -> None:
        time.sleep(2.5)
        with pair[1].connect() as con, con.cursor() as cursor:
            cursor.execute("LOCK TABLES shop.w WRITE")
            time.sleep(2)
            cursor.execute("UNLOCK TABLES")

    def found(report: Report) -> bool:
        return not {LOOKUP, KEYED, SORTED, GROUPED} & set(words(report))

    report = judged(pair, tape, tmp_path, found, beside_b=hold)
    stalls = [row for row in report.answers["stalls"] if row["run"] == "b"]
    longest = max(stalls, key=lambda row: row["long_ns"])
    assert longest["long_ns"] > 1 * SECOND
    assert longest["digest"] == WRITTEN
    assert any(run == "b" and "stall" in text for run, text in report.over_time)
    assert found(report), words(report)


def test_equal_servers_compared(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """`compare`: three rounds in turn with a reset before each; equal servers give no slower, and all of it is kept."""
    reset = tmp_path / "reset.sh"
    reset.write_text(f"#!/bin/sh\necho $QUERYTAPE_SIDE $QUERYTAPE_RUN >> {tmp_path}/said\n")
    reset.chmod(0o755)
    targets = [
        word for name, server in zip("ab", pair, strict=True) for word in ("--target", f"{name}={server.url('shop')}")
    ]
    arguments = [str(tape), *targets, "--rounds", "3", "--warmup", "1", "--pause", "100ms", "--reset", str(reset)]
    behind = ["--", "--allow-writes", "--target-is-disposable", "--lead", "200ms", "--speed", "2"]

    def once(number: int) -> dict[str, Any]:
        folder = tmp_path / f"equal{number}.compare"
        (tmp_path / "said").unlink(missing_ok=True)
        given = ["-o", str(folder), "--json", str(tmp_path / "c.json")]
        found = CliRunner().invoke(compare_command, [*arguments, *given, *behind], standalone_mode=False)
        assert found.return_value == 0, found.output
        assert "The rounds of A differ by up to" in found.output
        report: dict[str, Any] = json.loads((tmp_path / "c.json").read_text())
        assert report["verdicts"]["errors changed"] == 0
        return report

    report = repeated(REPEATS, TOLERATED, once, lambda found: found["verdicts"]["slower"] == 0)
    folder = tmp_path / f"equal{REPEATS - 1}.compare"
    order = [line.split() for line in (tmp_path / "said").read_text().splitlines()]
    assert order[:2] == [["a", "warm-a1"], ["b", "warm-b1"]]
    assert [name for _, name in order[2:]] == ["a1", "b1", "a2", "b2", "a3", "b3"]
    assert len(report["runs"]) == 6
    assert (folder / "report.html").exists()
    assert "rounds = 3" in (folder / "plan.toml").read_text()
    again = CliRunner().invoke(compare_command, ["--add", "1", "-o", str(folder)], standalone_mode=False)
    assert again.return_value == 0, again.output
    assert (folder / "b4.run" / "run.json").exists()
    shown = CliRunner().invoke(report_command, [str(folder), "--json", "-"], standalone_mode=False)
    assert len(json.loads(shown.output)["rounds"]) == 8


def test_a_wide_margin_calls_nothing_slower(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    pair[1].execute("ALTER TABLE shop.t DROP KEY customer")
    report = judged(pair, tape, tmp_path, lambda found: words(found).get(KEYED) == "slower")
    assert words(report)[KEYED] == "slower"
    wide = Settings(margin=Margin(ratio=1e6))
    assert words(build(tape, [report.a[0].path], [report.b[0].path], wide)) == {}


def test_a_smaller_buffer_pool(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """What reads scattered rows is slower, the reads from disk are among the counters, the variable is named.

    The last test here: the server is cold afterwards.
    """
    before = int(pair[1].execute("SELECT @@GLOBAL.innodb_buffer_pool_size")[0][0])
    pair[1].execute("SET GLOBAL innodb_buffer_pool_size = 5242880")
    time.sleep(3)  # it is resized in the background
    try:
        report = judged(pair, tape, tmp_path, lambda found: words(found).get(KEYED) == "slower")
        small = str(pair[1].execute("SELECT @@GLOBAL.innodb_buffer_pool_size")[0][0])
    finally:
        pair[1].execute(f"SET GLOBAL innodb_buffer_pool_size = {before}")
        time.sleep(3)
    assert words(report).get(KEYED) == "slower"
    assert set(words(report).values()) == {"slower"}
    reads = next(row for row in report.answers["counters"] if row["name"] == "Innodb_buffer_pool_reads")
    assert (reads["b"] or 0) > 100 + 2 * (reads["a"] or 0)
    assert ("innodb_buffer_pool_size", str(before), small) in different(report)

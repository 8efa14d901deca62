# SPDX-License-Identifier: Apache-2.0
"""Real regressions on real servers. Each regression is found, named and explained, without false findings. Equal
servers give no finding.
"""

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
REPEATS, TOLERATED = 3, 1  # number of comparisons; other load may make TOLERATED of them fail
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
    """Start two servers of the same kind and configuration."""
    config = {"innodb-buffer-pool-size": "128M", "innodb-flush-log-at-trx-commit": "0", "sort-buffer-size": "2M"}
    with ExitStack() as stack:
        servers = [stack.enter_context(start_server("mariadb", config=config)) for _ in range(2)]
        yield servers[0], servers[1]


@pytest.fixture(autouse=True)
def fresh(pair: tuple[Server, Server]) -> None:
    """Create the same data on both servers before each test."""
    for server in pair:
        prepare(server)


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tape of 6 seconds in six sessions, with four kinds of reads and one kind of write."""
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
def in_thread(action: Callable[[], None] | None) -> Iterator[None]:
    """Run the action in a separate thread while the block runs."""
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
    """Replay on both servers and compare the runs, with REPEATS attempts. Return a report that shows the planted
    regression.
    """

    def once(number: int) -> Report:
        runs = {}
        for name in ("ab", "ba")[number % 2]:
            given = options(pair["ab".index(name)], folder / f"{name}{number}.run", lead_ns=200 * MS)
            with in_thread(beside_b if name == "b" else None):
                summary = replay(tape, given)
            assert summary.complete
            runs[name] = [summary.path]
            time.sleep(0.5)
        return build(tape, runs["a"], runs["b"])

    return repeated(REPEATS, TOLERATED, once, as_planted)


def words(report: Report) -> dict[str, str]:
    """For each digest, return its verdict if it is "slower" or "errors changed"."""
    return {e["digest"]: e["verdict"] for e in report.digests if e["verdict"] in ("slower", "errors changed")}


def different(report: Report) -> set[tuple[str, str | None, str | None]]:
    """Return the server variables that differ, as (name, value on A, value on B)."""
    return {(row["name"], row["a"], row["b"]) for row in report.variables}


def test_dropped_index_makes_a_digest_slower_and_changes_its_plan(
    pair: tuple[Server, Server], tape: Path, tmp_path: Path
) -> None:
    """The --fail-on condition gives exit code 3, and the JUnit file names the digest."""
    pair[1].execute("ALTER TABLE shop.t DROP KEY customer")
    report = judged(pair, tape, tmp_path, lambda found: words(found) == {KEYED: "slower"})
    assert words(report)[KEYED] == "slower"
    assert report.digests[0]["digest"] == KEYED  # its table scans also slow other digests
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


def test_small_sort_buffer_is_found_as_the_cause(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """Statements that sort are slower or fail for lack of memory. The list of different variables contains
    sort_buffer_size.
    """
    before = pair[1].execute("SELECT @@GLOBAL.sort_buffer_size")[0][0]
    pair[1].execute("SET GLOBAL sort_buffer_size = 1024")
    try:
        report = judged(pair, tape, tmp_path, lambda found: set(words(found)) == {SORTED})
    finally:
        pair[1].execute(f"SET GLOBAL sort_buffer_size = {before}")
    assert set(words(report)) == {SORTED}
    assert ("sort_buffer_size", str(before), "1024") in different(report)


def test_changed_sql_mode_gives_new_errors(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """The report shows the number, the message and the first event of a new error. The message contains no values."""
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


def test_stall_of_writes_by_a_held_lock_is_listed(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """The listed stall lasts two seconds and names the waiting digest. Reads do not get the verdict "slower"."""

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


def test_compare_of_equal_servers_finds_no_slower_digest(
    pair: tuple[Server, Server], tape: Path, tmp_path: Path
) -> None:
    """`compare` alternates between the servers for three rounds and resets the data before each run. All runs are kept."""
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


def test_wide_margin_prevents_the_verdict_slower(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    pair[1].execute("ALTER TABLE shop.t DROP KEY customer")
    report = judged(pair, tape, tmp_path, lambda found: words(found).get(KEYED) == "slower")
    assert words(report)[KEYED] == "slower"
    wide = Settings(margin=Margin(ratio=1e6))
    assert words(build(tape, [report.a[0].path], [report.b[0].path], wide)) == {}


def test_small_buffer_pool_is_found_as_the_cause(pair: tuple[Server, Server], tape: Path, tmp_path: Path) -> None:
    """Reads of scattered rows are slower. The report lists the disk reads and the changed variable. This test must run
    last, because the cache of the server is cold afterwards.
    """
    before = int(pair[1].execute("SELECT @@GLOBAL.innodb_buffer_pool_size")[0][0])
    pair[1].execute("SET GLOBAL innodb_buffer_pool_size = 5242880")
    time.sleep(3)  # the server resizes the buffer pool in the background
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

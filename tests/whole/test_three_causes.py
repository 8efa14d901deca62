# SPDX-License-Identifier: Apache-2.0
"""Server B lacks an index, has another collation for a column, and has a smaller sort buffer. One comparison names
these three causes and no others. Load from other programs on B's host is not reported as one of the three causes.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.bench.neighbours import busy_loops
from querytape.cli.commands.compare import compare_command
from querytape.servers.sandbox import Server, start_server

from tests.helpers.chance import repeated
from tests.helpers.tapes import SECOND, T0, make_tape

pytestmark = pytest.mark.long

ROWS = 30_000
KEYED, SORTED, NAMED, PLAIN, *OTHERS = (f"{n:016x}" for n in range(1, 9))
UNTOUCHED = {PLAIN, *OTHERS}
SECONDS, PER_SECOND = 3, 320
NEIGHBOURS = 4
REPEATS, TOLERATED = 3, 1  # number of comparisons; other load may make TOLERATED of them fail
CAUSES = (
    "B lacks index k_customer on t (customer)",
    "column t.name: collation utf8mb4_bin in A, utf8mb4_general_ci in B",
    "sort_buffer_size: 2097152 in A, 32768 in B",
)


def prepare(server: Server) -> None:
    server.execute("CREATE DATABASE shop")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, customer INT, name VARCHAR(40) COLLATE utf8mb4_bin, hash VARCHAR(128),"
        " note VARCHAR(200), KEY k_customer (customer), KEY k_name (name)) DEFAULT CHARSET utf8mb4",
        db="shop",
    )
    fill = (
        "INSERT INTO t SELECT seq, seq % 3000, IF(seq % 2, CONCAT('n', seq DIV 2), CONCAT('N', seq DIV 2)),"
        " SHA2(seq, 512), REPEAT(MD5(seq), 4) FROM seq_1_to_{}"
    )
    server.execute(fill.format(ROWS), db="shop")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Server]]:
    """Start two servers that differ in an index, a collation and the sort buffer."""
    with ExitStack() as stack:
        a, b = (
            stack.enter_context(start_server("mariadb", config={"sort-buffer-size": size})) for size in ("2M", "32K")
        )
        for server in (a, b):
            prepare(server)
        b.execute("ALTER TABLE t DROP KEY k_customer", db="shop")
        b.execute("ALTER TABLE t MODIFY name VARCHAR(40) COLLATE utf8mb4_general_ci", db="shop")
        for server in (a, b):
            server.execute("ANALYZE TABLE t", db="shop")
        yield a, b


def tape_of(path: Path) -> Path:
    """Make a tape of 3 seconds with eight kinds of reads in four sessions. Five kinds are not affected by any of the
    differences.
    """
    statements = (
        (KEYED, "SELECT COUNT(*), MAX(hash) FROM t WHERE customer = {n}"),
        (SORTED, "SELECT id, note FROM t WHERE id BETWEEN {n} AND {n} + 1500 ORDER BY hash LIMIT 700"),
        (NAMED, "SELECT id FROM t WHERE name = 'n{n}'"),
        (PLAIN, "SELECT hash FROM t WHERE id = {n}"),
        (OTHERS[0], "SELECT COUNT(*) FROM t WHERE id BETWEEN {n} AND {n} + 500"),
        (OTHERS[1], "SELECT MAX(note) FROM t WHERE id BETWEEN {n} AND {n} + 200"),
        (OTHERS[2], "SELECT id, hash FROM t WHERE id IN ({n}, {n} + 5, {n} + 9)"),
        (OTHERS[3], "SELECT MIN(hash), COUNT(*) FROM t WHERE id > {n} AND id < {n} + 900"),
    )
    events = []
    for number in range(SECONDS * PER_SECOND):
        digest, text = statements[number % len(statements)]
        events.append(
            {
                "session": 1 + number // 2 % 4,
                "start_ns": T0 + number * SECOND // PER_SECOND,
                "duration_ns": 1_000_000,
                "statement": text.format(n=1 + number * 7919 % 2900),
                "digest": digest,
                "db": "shop",
            }
        )
    return make_tape(path, events)


def compare(pair: tuple[Server, Server], folder: Path, *more: str) -> tuple[dict[str, Any], list[str]]:
    """Run one comparison. Return its JSON report and its texts on the terminal, in Markdown and in HTML."""
    folder.mkdir()
    files = [folder / name for name in ("r.json", "r.md", "r.html")]
    words = [str(tape_of(folder / "t.tape")), "-o", str(folder / "c"), "--rounds", "1", "--pause", "0s", *more]
    for side, server in zip("ab", pair, strict=True):
        words += ["--target", f"{side}={server.url('shop')}"]
    for option, file in zip(("--json", "--markdown", "--html"), files, strict=True):
        words += [option, str(file)]
    done = CliRunner().invoke(
        compare_command, [*words, "--", "--verify"], standalone_mode=False, catch_exceptions=False
    )
    assert done.return_value == 0
    report = json.loads(files[0].read_text())
    return report, [done.output.replace("\n", " "), files[1].read_text().replace("\\", ""), files[2].read_text()]


@contextmanager
def load_during_b(said: Path) -> Iterator[None]:
    """Keep processors busy while a replay against B runs. The file `said` contains the side of the current replay."""
    over = threading.Event()

    def turn() -> str:
        return said.read_text().strip() if said.exists() else ""

    def work() -> None:
        while not over.wait(0.02):
            if turn() == "b":
                with busy_loops(NEIGHBOURS):
                    while turn() == "b" and not over.wait(0.02):
                        pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def check_causes_precede_answer(report: dict[str, Any], shown: list[str]) -> dict[str, Any]:
    """Check that the three causes, and no others, are printed before the answer. Return the differences by kind."""
    rows = [row for row in report["servers"]["differences"] if not row["folded"]]
    assert len(rows) == len(CAUSES), [row["text"] for row in rows]
    for cause in CAUSES:
        assert sum(row["text"].startswith(cause) for row in rows) == 1, cause
        for text in shown:
            assert text.index(cause) < text.index(report["headline"]["sentence"][:20])
    return {row["kind"]: row for row in rows}


def tasks_of(report: dict[str, Any], digest: str) -> list[str]:
    """Return the causes that the to-do list names for a digest."""
    return [task["cause"] for task in report["to_do"] if digest in task["digests"]]


def named(report: dict[str, Any]) -> bool:
    """Return whether each planted cause is listed with its statement, and no other statement is slower."""
    pairs = zip((KEYED, NAMED, SORTED), CAUSES, strict=True)
    slower = {row["digest"] for row in report["digests"] if row["verdict"] in ("slower", "faster")}
    return not slower & UNTOUCHED and all(
        any(cause in said for said in tasks_of(report, digest)) for digest, cause in pairs
    )


def test_one_comparison_names_all_three_causes(pair: tuple[Server, Server], tmp_path: Path) -> None:
    """The causes are printed before the answer on the terminal, in Markdown, in HTML and in JSON. The plans of slower
    digests come from both servers.
    """
    report, shown = compare(pair, tmp_path / "1")
    rows = check_causes_precede_answer(report, shown)
    verdicts = {row["digest"]: row["verdict"] for row in report["digests"]}
    assert set(rows["column"]["changed"]) == {NAMED}, "its results differ"
    if verdicts[KEYED] == "slower":
        assert set(rows["index"]["changed"]) == {KEYED}
    if verdicts[SORTED] == "slower":
        assert set(rows["setting"]["changed"]) == {SORTED}
    if any(word in ("slower", "unstable") for word in verdicts.values()):
        assert (tmp_path / "1" / "c" / "plans" / "plans.json").exists()
    assert "t: ref by k_customer, 10 rows -> a full scan" in " ".join(report["query_plans"][KEYED]["changes"])


def test_other_load_is_not_reported_as_a_cause(pair: tuple[Server, Server], tmp_path: Path) -> None:
    """Four programs with busy loops run next to B. Statements that are slow only because of this load get neither the
    verdict "slower" nor a cause. The causes of other statements are named even if the load makes their verdicts
    inconclusive.
    """
    said = tmp_path / "side"

    def once(number: int) -> tuple[Any, Any]:
        with load_during_b(said):
            report, shown = compare(pair, tmp_path / str(number), "--reset", f"echo $QUERYTAPE_SIDE >{said}")
        check_causes_precede_answer(report, shown)
        return report, shown

    report, shown = repeated(REPEATS, TOLERATED, once, lambda found: bool(named(found[0])))
    verdicts = {row["digest"]: (row["verdict"], row["why"]) for row in report["digests"]}
    assert {digest for digest in UNTOUCHED if verdicts[digest][0] in ("slower", "faster")} == set(), verdicts
    assert named(report), [(task["text"], task["digests"]) for task in report["to_do"]]
    assert any("ther programs" in finding["text"] for finding in report["trust"]), report["trust"]
    causes = [cause for digest in (KEYED, NAMED, SORTED) for cause in tasks_of(report, digest)]
    for text in shown:
        for cause in causes:
            assert cause in " ".join(text.split())

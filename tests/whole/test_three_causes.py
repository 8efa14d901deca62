# SPDX-License-Identifier: Apache-2.0
"""Two servers of which one lacks an index, has another collation on a column and a smaller sort buffer: one comparison
names the three, and nothing else."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.compare import compare_command
from querytape.servers.sandbox import Server, start_server

from tests.helpers.tapes import SECOND, T0, make_tape

pytestmark = [pytest.mark.mariadb, pytest.mark.slow]

ROWS = 30_000
KEYED, SORTED, NAMED, PLAIN = (f"{n:016x}" for n in range(1, 5))
CAUSES = (
    "B lacks index k_customer on t (customer)",
    "column t.name: collation utf8mb4_bin in A, utf8mb4_general_ci in B",
    "sort_buffer_size: 2097152 in A, 32768 in B",
)


def prepare(server: Server) -> None:
    """Make the data, the same on both."""
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
    """Two servers that differ in three things."""
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
    """Make three seconds of four kinds of reads by four sessions."""
    statements = (
        (KEYED, "SELECT COUNT(*), MAX(hash) FROM t WHERE customer = {n}"),
        (SORTED, "SELECT id, note FROM t WHERE id BETWEEN {n} AND {n} + 1500 ORDER BY hash LIMIT 700"),
        (NAMED, "SELECT id FROM t WHERE name = 'n{n}'"),
        (PLAIN, "SELECT hash FROM t WHERE id = {n}"),
    )
    events = []
    for number in range(720):
        digest, text = statements[number % 4]
        events.append(
            {
                "session": 1 + number % 4,
                "start_ns": T0 + number * SECOND // 240,
                "duration_ns": 1_000_000,
                "statement": text.format(n=1 + number * 7919 % 2900),
                "digest": digest,
                "db": "shop",
            }
        )
    return make_tape(path, events)


def test_one_comparison_names_the_three(pair: tuple[Server, Server], tmp_path: Path) -> None:
    """Above the answer, on the terminal, in Markdown, HTML and JSON; and both servers are asked why a digest is slower."""
    folder, files = tmp_path / "c", [tmp_path / name for name in ("r.json", "r.md", "r.html")]
    targets = [
        word for side, server in zip("ab", pair, strict=True) for word in ("--target", f"{side}={server.url('shop')}")
    ]
    words = [str(tape_of(tmp_path / "t.tape")), *targets, "-o", str(folder), "--rounds", "1", "--pause", "0s"]
    for option, file in zip(("--json", "--markdown", "--html"), files, strict=True):
        words += [option, str(file)]
    done = CliRunner().invoke(
        compare_command, [*words, "--", "--verify"], standalone_mode=False, catch_exceptions=False
    )
    assert done.return_value == 0
    report = json.loads(files[0].read_text())
    rows = [row for row in report["servers"]["differences"] if not row["folded"]]
    for cause in CAUSES:
        assert sum(row["text"].startswith(cause) for row in rows) == 1, cause
    assert len(rows) == len(CAUSES), [row["text"] for row in rows]
    shown = done.output.replace("\n", " ")
    for text in (shown, files[1].read_text().replace("\\", ""), files[2].read_text()):
        for cause in CAUSES:
            assert text.index(cause) < text.index(report["headline"]["sentence"][:20])
    verdicts = {row["digest"]: row["verdict"] for row in report["digests"]}
    by_kind = {row["kind"]: set(row["changed"]) for row in rows}
    assert by_kind["column"] == {NAMED}, "its results differ"
    if verdicts[KEYED] == "slower":
        assert by_kind["index"] == {KEYED}
    if verdicts[SORTED] == "slower":
        assert by_kind["setting"] == {SORTED}
    if any(word in ("slower", "unstable") for word in verdicts.values()):
        assert (folder / "plans" / "plans.json").exists()
    assert "t: ref by k_customer, 10 rows -> a full scan" in " ".join(report["query_plans"][KEYED]["changes"])

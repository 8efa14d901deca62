# SPDX-License-Identifier: Apache-2.0
"""A comparison of MySQL 5.7 with 8.0, as a user would run it. The test checks failing statements, different results
with causes, and the query cache of side A.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from querytape.cli.commands.compare import compare_command
from querytape.servers.programs import find_program
from querytape.servers.sandbox import Server, start_server

from tests.conftest import skip_loudly
from tests.helpers.tapes import SECOND, T0, make_tape

pytestmark = pytest.mark.long

REPEATS = 40
STATEMENTS = {
    "mixed": "SELECT g, name, COUNT(*) FROM t GROUP BY g",
    "sorted": "SELECT g, COUNT(*) FROM t WHERE id < 400 GROUP BY g",
    "reserved": "SELECT rank FROM t WHERE id = 1",
    "write": "INSERT INTO log (word) VALUES ('much too long')",
    "after": "SELECT COUNT(*), MAX(word) FROM log",
    "missing": "SELECT * FROM not_there WHERE id = 1",
    "key": "SELECT name FROM t WHERE id = 7",
}
DIGESTS = {name: f"{number:016x}" for number, name in enumerate(STATEMENTS, 1)}
MODES = (
    "sql_mode: only B has ERROR_FOR_DIVISION_BY_ZERO, NO_ENGINE_SUBSTITUTION, NO_ZERO_DATE, NO_ZERO_IN_DATE,"
    " ONLY_FULL_GROUP_BY, STRICT_TRANS_TABLES"
)
TOO_LONG = f"strict mode rejects a string that is too long for its column ({MODES})"


def prepare(server: Server) -> None:
    """Create equal data on each server. Rows of a group are not stored in sorted order."""
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, g INT, name VARCHAR(20), `rank` INT)", db="shop")
    server.execute("CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(3))", db="shop")
    rows = ", ".join(f"({n}, {(n * 7 + 5) % 13}, 'n{n}', {n})" for n in range(500))
    server.execute(f"INSERT INTO t VALUES {rows}", db="shop")


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Server]]:
    """Start MySQL 5.7 with old settings, and MySQL 8.0 with its defaults."""
    if any(find_program(kind) is None for kind in ("mysql-5.7", "mysql-8.0")):
        skip_loudly(request, "an evening from MySQL 5.7 to 8.0: one of them is not here (make servers)")
    old = {"query-cache-type": "1", "query-cache-size": "16M", "sql-mode": ""}
    with ExitStack() as stack:
        servers = [stack.enter_context(start_server("mysql-5.7", config=old))]
        servers.append(stack.enter_context(start_server("mysql-8.0")))
        for server in servers:
            prepare(server)
        yield servers[0], servers[1]


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tape with one second of traffic without errors."""
    events: list[dict[str, Any]] = []
    for number in range(REPEATS * len(STATEMENTS)):
        name = list(STATEMENTS)[number % len(STATEMENTS)]
        events.append(
            {
                "start_ns": T0 + number * SECOND // (REPEATS * len(STATEMENTS)),
                "duration_ns": 1_000_000,
                "statement": STATEMENTS[name],
                "class": "write" if name == "write" else "read",
                "digest": DIGESTS[name],
                "db": "shop",
                "errno": 0,
            }
        )
    return make_tape(tmp_path_factory.mktemp("evening") / "t.tape", events, known_columns=["errno"])


def compare(pair: tuple[Server, Server], tape: Path, folder: Path, *options: str) -> tuple[Result, dict[str, Any]]:
    """Run one comparison. Return its result and its JSON report."""
    targets = [
        word for side, server in zip("ab", pair, strict=True) for word in ("--target", f"{side}={server.url('shop')}")
    ]
    words = [str(tape), *targets, "-o", str(folder / "c"), "--json", str(folder / "r.json"), "--rounds", "1"]
    words += ["--pause", "0s", "--fail-on", "failed_on_both > 0", *options]
    replay = ["--", "--verify", "--allow-writes", "--target-is-disposable"]
    done = CliRunner().invoke(compare_command, [*words, *replay], standalone_mode=False, catch_exceptions=False)
    return done, json.loads((folder / "r.json").read_text())


def test_upgrade_comparison_finds_every_planted_difference(
    pair: tuple[Server, Server], tape: Path, tmp_path: Path
) -> None:
    """The report lists each difference in the right part, and mentions the query cache above the answer. Statements
    that fail on both sides make --fail-on fail.
    """
    done, report = compare(pair, tape, tmp_path)
    assert done.return_value == 3
    tasks = {task["cause"]: task for task in report["to_do"]}
    for cause, name in {
        f"ONLY_FULL_GROUP_BY ({MODES})": "mixed",
        "RANK is a reserved word": "reserved",
        TOO_LONG: "write",
        "a table is missing (also in A, but not in production)": "missing",
        "GROUP BY no longer sorts": "sorted",
    }.items():
        assert list(tasks[cause]["digests"]) == [DIGESTS[name]], cause
        assert tasks[cause]["events"] == REPEATS, cause
    following = [(task["cause"], task["results"]) for task in report["to_do"] if task["results"]]
    assert following == [(TOO_LONG, {DIGESTS["after"]: REPEATS})]  # results that differ because the write failed
    assert [part["digests"] for part in report["parts"][:2]] == [4, 2]
    assert report["headline"]["answer"] == "no"
    notes = " ".join(report["headline"]["notes"])
    assert "Both sides differ from production: 40 events of 1 digest failed on both sides" in notes
    assert {row["what"] for row in report["errors"] if row["digest"] == DIGESTS["missing"]} == {"both"}
    use = report["query_cache"]
    assert set(use) == {"a"}
    assert 0.3 < use["a"]["hits"] / use["a"]["selects"] <= 1
    flat = " ".join(done.output.split())
    assert flat.index("of its SELECTs from its query cache") < flat.index("May this traffic move from A")
    assert flat.index("What to do") < flat.index("Totals")


def test_query_cache_is_disabled_only_for_replay_sessions(
    pair: tuple[Server, Server], tape: Path, tmp_path: Path
) -> None:
    """A server without a query cache gets no statement about the query cache."""
    done, report = compare(pair, tape, tmp_path, "--no-query-cache")
    assert report["query_cache"]["a"]["hits"] == 0
    assert pair[0].execute("SELECT @@GLOBAL.query_cache_type") == (("ON",),)
    assert "query cache" not in done.output.split("May this traffic")[0].replace(done.stderr, "")

# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape try` on a private server: a useful index, a useless index, and DDL that fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from querytape.cli.commands.try_ddl import try_command
from querytape.common.errors import InputError
from querytape.experiments import try_ddl
from querytape.servers.sandbox import private_folder, start_server

from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.server

READ, KEYED, WRITE = (f"{n:016x}" for n in range(1, 4))
TEXTS = {
    READ: "SELECT COUNT(*), MAX(note) FROM t WHERE customer = {n}",
    KEYED: "SELECT note FROM t WHERE id = {n}",
    WRITE: "INSERT INTO t VALUES ({n} + 100000, {n}, 'new', 'new')",
}


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Make the data folder of a stopped server with a table that lacks an index."""
    folder = private_folder()
    with start_server("mariadb", folder) as server:
        server.execute("CREATE DATABASE shop")
        server.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, customer INT, name VARCHAR(40), note VARCHAR(80))", db="shop"
        )
        server.execute("INSERT INTO t SELECT seq, seq % 500, 'n', MD5(seq) FROM seq_1_to_20000", db="shop")
    yield folder / "data"
    server.remove()


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tape with one second of reads and writes."""
    events: list[dict[str, Any]] = []
    for number in range(240):
        digest = list(TEXTS)[number % 3]
        events.append(
            {
                "statement": TEXTS[digest].format(n=1 + number),
                "digest": digest,
                "class": "write" if digest == WRITE else "read",
                "db": "shop",
                "start_ns": T0 + number * 4 * MS,
                "duration_ns": MS,
            }
        )
    return make_tape(tmp_path_factory.mktemp("tape") / "t.tape", events)


def run_try(tape: Path, data: Path, folder: Path, *ddl: str, rounds: int = 1) -> Result:
    words = [str(tape), "--target", f"sandbox?data={data}", "-o", str(folder), "--pause", "0s"]
    words += ["--rounds", str(rounds), "--json", str(folder.with_suffix(".json"))]
    for text in ddl:
        words += ["--ddl", text]
    return CliRunner().invoke(try_command, [*words, "--", "--pace", "none"], standalone_mode=False)


def test_useful_index_makes_the_indexed_read_faster(
    tape: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report shows the changed plans and a verdict for the write. The data folder given by the user stays
    unchanged.
    """
    made: list[Path] = []

    def noted(prefix: str, room: Path) -> Path:
        made.append(private_folder(prefix, room))
        return made[-1]

    monkeypatch.setattr(try_ddl, "private_folder", noted)
    before = sorted((path.name, path.stat().st_size) for path in (data / "shop").iterdir())
    folder = tmp_path / "c"
    done = run_try(tape, data, folder, "ALTER TABLE t ADD INDEX k_customer (customer)", rounds=2)
    assert done.exception is None, done.exception
    report = json.loads(folder.with_suffix(".json").read_text())
    verdicts = {row["digest"]: row["verdict"] for row in report["digests"]}
    assert verdicts[READ] in ("faster", "inconclusive", "unstable")
    assert set(verdicts) == {READ, KEYED, WRITE}
    pairs = {row["digest"]: row["pair"]["ratio"] for row in report["digests"]}
    assert pairs[READ] < 0.7
    assert not report["errors"]
    lines = " ".join(done.stdout.split())
    assert lines.startswith("DDL: ALTER TABLE t ADD INDEX k_customer (customer) (duration ")
    assert "writes: 1 " in lines
    assert (
        "Is this DDL worth it? ALTER TABLE t ADD INDEX k_customer (customer) (A: before the DDL, B: after the DDL)"
        in lines
    )
    assert "May this traffic move" not in lines
    assert report["parts"][0]["name"] == "cheaper"
    named = [row["text"] for row in report["servers"]["differences"] if not row["folded"]]
    assert len(named) == 1
    assert named[0].startswith("A lacks index k_customer on t (customer)")
    if verdicts[READ] == "faster":
        assert "k_customer" in " ".join(report["query_plans"][READ]["changes"])
    assert sorted((path.name, path.stat().st_size) for path in (data / "shop").iterdir()) == before
    assert len(made) == 1
    assert not made[0].exists(), "the copies are gone"


@pytest.mark.long
def test_useless_index_does_not_make_a_read_faster(tape: Path, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    done = run_try(tape, data, folder, "ALTER TABLE t ADD INDEX k_name (name)", "ALTER TABLE t ADD INDEX k_note (note)")
    assert done.exception is None, done.exception
    report = json.loads(folder.with_suffix(".json").read_text())
    pairs = {row["digest"]: row["pair"]["ratio"] for row in report["digests"]}
    assert pairs[READ] > 0.5
    assert len([row for row in report["servers"]["differences"] if not row["folded"]]) == 2


def test_try_ends_before_the_replay_if_the_ddl_fails(tape: Path, data: Path, tmp_path: Path) -> None:
    """The cases are a statement that the server refuses, a statement that is not DDL, and a target without a private
    copy.
    """
    done = run_try(tape, data, tmp_path / "c", "ALTER TABLE t ADD INDEX k (customer)", "ALTER TABLE t ADD INDEX k (id)")
    assert isinstance(done.exception, InputError)
    assert "ADD INDEX k (id): 1061" in str(done.exception)
    assert "nothing was replayed" in str(done.exception)
    assert not (tmp_path / "c").exists()
    assert "expected a DDL statement such as ALTER TABLE" in str(
        run_try(tape, data, tmp_path / "c", "DROP DATABASE; SHUTDOWN").exception
    )
    for target in ("mysql://a@h/shop", "sandbox", "sandbox:mysql?max_connections=9"):
        words = [str(tape), "--target", target, "-o", str(tmp_path / "c"), "--ddl", "DROP INDEX k ON t"]
        done = CliRunner().invoke(try_command, words, standalone_mode=False)
        assert f"--target {target}: `querytape try` runs DDL only on private copies" in str(done.exception)

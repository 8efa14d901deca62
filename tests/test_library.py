# SPDX-License-Identifier: Apache-2.0
"""Tests of the examples in docs/library.md: they run, pass the type checker, and return Arrow data."""

import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import duckdb
import pyarrow
import pytest
import querytape
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parent.parent
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```", (CHECKOUT / "docs" / "library.md").read_text(encoding="utf-8"), re.M | re.S
)
LOG = """\
# Time: 2026-11-20T12:00:{at:02d}.000000Z
# User@Host: app[app] @ web [10.0.0.5]  Id:     {id}
# Query_time: 0.002000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
SET timestamp={stamp};
SELECT {n};
"""


class Arrow:
    """A wrapper that gives access only to the Arrow stream of a relation."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def write_log(path: Path) -> None:
    """Write a slow log that covers three seconds."""
    rows = [LOG.format(at=n // 10, id=5 + n % 2, stamp=1795176000 + n // 10, n=n) for n in range(30)]
    path.write_text("".join(rows), encoding="utf-8")


@pytest.mark.server
def test_library_examples_run_as_one_script(mariadb: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "slow.log")
    assert len(EXAMPLES) == 6
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(example.replace("mysql://app@10.0.0.7:3306/shop", mariadb.url()), names)
    tape, summary, comparison = (names[name] for name in ("tape", "summary", "comparison"))
    assert isinstance(tape, querytape.Tape)
    assert tape.info["counts"]["events"] == 30
    assert isinstance(summary, querytape.RunSummary)
    assert summary.complete
    assert isinstance(comparison, querytape.CompareResult)
    assert [path.name for path in (*comparison.a, *comparison.b)] == ["a1.run", "a2.run", "b1.run", "b2.run"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")


@pytest.mark.long
def test_library_examples_pass_strict_type_checks(tmp_path: Path) -> None:
    """The type checker must also report a wrong argument, which shows that it uses the types of querytape."""
    (tmp_path / "good.py").write_text("".join(EXAMPLES), encoding="utf-8")
    (tmp_path / "bad.py").write_text('import querytape\nquerytape.capture(1, "x")\n', encoding="utf-8")
    (tmp_path / "querytape").symlink_to(CHECKOUT)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    command += ["--cache-dir", str(tmp_path / "cache")]
    good = subprocess.run([*command, "good.py"], cwd=tmp_path, capture_output=True, text=True)
    assert good.returncode == 0, good.stdout
    bad = subprocess.run([*command, "bad.py"], cwd=tmp_path, capture_output=True, text=True)
    assert 'Argument 1 to "capture" has incompatible type "int"' in bad.stdout


@pytest.mark.parametrize(
    "program",
    [
        "import querytape; querytape.capture; from querytape.capture.sources import slowlog; q = querytape.capture",
        "from querytape.capture.sources import slowlog; from querytape import capture as q",
        "import querytape.capture.sources.slowlog as slowlog, querytape; q = querytape.capture",
    ],
)
def test_capture_is_both_function_and_package(program: str) -> None:
    """The name `capture` works in both ways for each order of imports."""
    check = "; assert slowlog.KIND.name == 'slowlog'; assert callable(q); assert q.capture and q.SOURCES"
    subprocess.run([sys.executable, "-c", program + check], check=True)


def test_library_import_loads_no_heavy_module() -> None:
    """DuckDB, the native extension and click are not imported before a function needs them."""
    program = "import sys, querytape; print({'duckdb', 'cffi', 'click', 'numpy', 'pymysql'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "set()\n"


def test_every_public_name_exists() -> None:
    """An unknown name raises AttributeError."""
    assert [name for name in vars(querytape)["__all__"] if getattr(querytape, name, None) is None] == []
    with pytest.raises(AttributeError, match="has no attribute 'rewind'"):
        _ = querytape.rewind  # type: ignore[attr-defined]


def test_table_is_an_arrow_stream(tmp_path: Path) -> None:
    """A reader of Arrow streams needs no other library. `open_tape` also accepts a tape that is already open."""
    tape = querytape.open_tape(make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(7)]))
    stream = Arrow(tape.events())
    assert duckdb.connect().from_arrow(stream).aggregate("count(*), sum(seq)").fetchall() == [(7, 28)]
    assert querytape.open_tape(tape).path == tmp_path / "t.tape"
    with pytest.raises(FrozenInstanceError):
        tape.folder = None  # type: ignore[misc, assignment]


def test_pyarrow_reads_the_events_of_a_tape(tmp_path: Path) -> None:
    tape = querytape.open_tape(make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}]))
    assert pyarrow.table(tape.events()).num_rows == 1


def test_unknown_runs_kinds_and_tables_give_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(querytape.FolderError, match="no such run"):
        querytape.open_run(tmp_path / "no.run")
    with pytest.raises(querytape.InputError, match="expected one of packets, slowlog"):
        querytape.capture(tmp_path / "x", tmp_path / "x.tape", kind="tarot")
    with pytest.raises(KeyError, match="a tape has no table 'elephants'"):
        querytape.open_tape(make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "start_ns": T0 + MS}])).table(
            "elephants"
        )

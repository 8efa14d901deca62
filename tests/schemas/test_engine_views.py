# SPDX-License-Identifier: Apache-2.0
"""Other engines read the tables of tapes, sets and runs through views, and find the same numbers."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import duckdb
import pytest
from querytape.analyze import Settings, build
from querytape.analyze import summary as kept
from querytape.capture.tools.gather import gather
from querytape.common.errors import InputError
from querytape.common.staged import stage
from querytape.common.temporary import temporary_folder
from querytape.schemas import Folder, open_folder
from querytape.schemas.engine_views import NAMES, define_views
from querytape.schemas.folders import TABLES

from ..helpers.runs import make_run
from ..helpers.tapes import make_tape, reads

INSTALL_S = 900
PACKAGES = {"clickhouse": "chdb", "spark": "pyspark"}
# Programs that run the statements of their input, and print the rows of the queries after them.
PROGRAMS = {
    "clickhouse": """
import json, sys
from chdb.session import Session
session = Session()
given = json.load(sys.stdin)
for statement in given["views"]:
    session.query(statement)
print(json.dumps([[int(n) for n in str(session.query(query, "CSV")).strip().split(",")] for query in given["queries"]]))
""",
    "spark": """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
given = json.load(sys.stdin)
for statement in given["views"]:
    spark.sql(statement.removesuffix(";"))
print(json.dumps([[int(n) for n in spark.sql(query).collect()[0]] for query in given["queries"]]))
""",
}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Folder]:
    """Return a tape, a set with renumbered sessions, and a run with a kept summary. Their names need quoting."""
    monkeypatch.setattr(kept, "KEPT_EVENTS", 0)
    captures = tmp_path / "it's `all`"
    captures.mkdir()
    tape = make_tape(captures / "a.tape", reads(40), parts=2)
    make_tape(captures / "b.tape", reads(30))
    runs = [make_run(tmp_path / f"{name}.run", tape, [{"rows_sent": n} for n in range(40)]) for name in "ab"]
    build(tape, [runs[0]], [runs[1]], Settings())
    single = open_folder("tape", make_tape(tmp_path / "single.tape", reads(9)))
    gather(captures)
    return [single, open_folder("tape", captures), open_folder("run", runs[1])]


def queries(folder: Folder) -> list[str]:
    """Return queries of the tables that have rows: the number of rows, and the sum of the sessions."""
    found = []
    for table in TABLES[folder.kind]:
        if folder.files(table):
            summed = "sum(session)" if table in ("events", "sessions", "outcomes") else "0"
            found.append(f"SELECT count(*), {summed} FROM {folder.kind}_{table}")
    if (folder.path / "summary").exists():
        found.append("SELECT count(*), sum(executed) FROM summary_shape_counts")
    return found


def expected(folder: Folder) -> list[list[int]]:
    with duckdb.connect() as con:
        folder.attach(con, folder.kind)
        if (folder.path / "summary").exists():
            con.execute(f"CREATE VIEW summary_shape_counts AS FROM '{folder.path}/summary/shape_counts.parquet'")
        return [[int(n) for n in con.execute(query).fetchall()[0]] for query in queries(folder)]


def statements(folder: Folder, engine: str) -> list[str]:
    return [text for text in define_views(folder, engine) if not text.startswith("--")]


def test_duckdb_finds_the_same_numbers(folders: list[Folder]) -> None:
    for folder in folders:
        with duckdb.connect() as con:
            for statement in statements(folder, "duckdb"):
                con.execute(statement)
            found = [[int(n) for n in con.execute(query).fetchall()[0]] for query in queries(folder)]
        assert found == expected(folder)
        assert all(row[0] for row in found)


@pytest.mark.long
@pytest.mark.parametrize("engine", sorted(PROGRAMS))
def test_other_engines_find_the_same_numbers(engine: str, folders: list[Folder], tmp_path: Path) -> None:
    """The package of the engine is installed into an environment of its own, because it has hundreds of megabytes."""
    room = tmp_path / "engine"
    venv.create(room, with_pip=True)
    python = str(room / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", PACKAGES[engine]]
    subprocess.run(install, check=True, timeout=INSTALL_S)
    for folder in folders:
        given = json.dumps({"views": statements(folder, engine), "queries": queries(folder)})
        done = subprocess.run(
            [python, "-c", PROGRAMS[engine]], input=given, capture_output=True, text=True, timeout=INSTALL_S
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == expected(folder)


def test_tables_without_rows_and_tables_that_trino_cannot_read_are_comments(folders: list[Folder]) -> None:
    single, _, run = folders
    assert "-- tape_problems has no rows." in define_views(single, "spark")
    trino = define_views(single, "trino")
    assert trino[0].startswith('CREATE TABLE tape_events (\n    "session" bigint,')
    assert trino[0].endswith(f"WITH (external_location = 'file://{single.path}/events/', format = 'PARQUET');")
    assert trino[2].startswith("-- tape_digests: Trino reads only folders.")
    assert '"error" varchar' in define_views(run, "trino")[0]


@pytest.mark.parametrize(
    ("engine", "address", "shown"),
    [
        ("duckdb", "az://c/x.tape", "'az://c/x.tape/events/*.parquet'"),
        ("spark", "s3://b/x.tape", "`s3a://b/x.tape/events/*.parquet`"),
        ("clickhouse", "s3://b/x.tape", "s3('s3://b/x.tape/events/*.parquet', Parquet)"),
        ("trino", "s3://b/x.tape", "'s3://b/x.tape/events/'"),
    ],
)
def test_views_of_a_tape_in_a_store_name_its_address(engine: str, address: str, shown: str) -> None:
    with temporary_folder() as room:
        tape = open_folder("tape", make_tape(stage(Path(room), address), reads(4)))
        found = "\n".join(define_views(tape, engine))
        assert shown in found
        assert room not in found


def test_store_that_the_engine_cannot_read_is_refused() -> None:
    with temporary_folder() as room:
        tape = open_folder("tape", make_tape(stage(Path(room), "gs://b/x.tape"), reads(4)))
        with pytest.raises(InputError, match="this engine has no address for this object store"):
            define_views(tape, "clickhouse")


def test_command_prints_the_statements(folders: list[Folder]) -> None:
    for engine in NAMES:
        command = [sys.executable, "-m", "querytape", "sql", str(folders[0].path), "--views", engine]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "\n\n".join(define_views(folders[0], engine)) + "\n"

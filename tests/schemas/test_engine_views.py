# SPDX-License-Identifier: Apache-2.0
"""Other engines read the tables of tapes, sets and runs through views, and find the same numbers."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import duckdb
import pytest
from querytape.common.errors import InputError
from querytape.common.staged import stage
from querytape.common.temporary import temporary_folder
from querytape.schemas import Folder, open_folder
from querytape.schemas.engine_views import NAMES, define_views

from ..helpers.tapes import make_tape, reads
from .engine_folders import expected, make_folders, queries, statements

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
    return make_folders(tmp_path, monkeypatch)


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


def test_tables_without_rows_are_comments(folders: list[Folder]) -> None:
    for engine in NAMES:
        assert "-- tape_problems has no rows." in define_views(folders[0], engine)


@pytest.mark.parametrize(
    ("engine", "address", "shown"),
    [
        ("duckdb", "az://c/x.tape", "'az://c/x.tape/events/*.parquet'"),
        ("spark", "s3://b/x.tape", "`s3a://b/x.tape/events/*.parquet`"),
        ("clickhouse", "s3://b/x.tape", "s3('s3://b/x.tape/events/*.parquet', Parquet)"),
        ("trino", "s3://b/x.tape", "'s3://b/x.tape/events/'"),
        ("trino", "gs://b/x.tape", "\"$path\" = 'gs://b/x.tape/digests.parquet'"),
    ],
)
def test_views_of_a_tape_in_a_store_name_its_address(engine: str, address: str, shown: str) -> None:
    with temporary_folder() as room:
        tape = open_folder("tape", make_tape(stage(Path(room), address), reads(4)))
        found = "\n".join(define_views(tape, engine))
        assert shown in found
        assert room not in found


@pytest.mark.parametrize(("engine", "address"), [("clickhouse", "gs://b/x.tape"), ("trino", "az://b/x.tape")])
def test_store_that_the_engine_cannot_read_is_refused(engine: str, address: str) -> None:
    with temporary_folder() as room:
        tape = open_folder("tape", make_tape(stage(Path(room), address), reads(4)))
        with pytest.raises(InputError, match="this engine has no address for this object store"):
            define_views(tape, engine)


def test_command_prints_the_statements(folders: list[Folder]) -> None:
    for engine in NAMES:
        command = [sys.executable, "-m", "querytape", "sql", str(folders[0].path), "--views", engine]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "\n\n".join(define_views(folders[0], engine)) + "\n"

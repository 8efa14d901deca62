# SPDX-License-Identifier: Apache-2.0
"""Trino reads the tables of tapes, sets and runs, and finds the same numbers."""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from duckdb import sqltype
from querytape.common.staged import stage
from querytape.common.temporary import temporary_folder
from querytape.schemas import Folder, open_folder
from querytape.schemas.engine_views import define_views
from querytape.schemas.trino_tables import type_name

from ..helpers.tapes import make_tape, reads
from .engine_folders import expected, make_folders, queries, statements

HERE = Path(__file__).parent
DOWNLOAD_S = 900
JAVA = 25


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Folder]:
    return make_folders(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("BLOB", "varbinary"),
        ("UINTEGER", "bigint"),
        ("FLOAT[]", "array(real)"),
        ('STRUCT(seq UINTEGER, "a b" VARCHAR[])', 'row("seq" bigint, "a b" array(varchar))'),
    ],
)
def test_types_have_the_names_of_trino(kind: str, name: str) -> None:
    assert type_name(sqltype(kind)) == name


def test_table_of_a_folder_is_one_table_and_a_file_is_a_view_of_its_folder(folders: list[Folder]) -> None:
    single = folders[0]
    events, files, sessions, *_ = define_views(single, "trino")
    assert events.startswith('CREATE TABLE tape_events (\n    "session" bigint,\n')
    assert events.endswith(f"WITH (external_location = 'local://{single.path}/events/', format = 'PARQUET');")
    assert files.startswith('CREATE TABLE tape_sessions_files (\n    "session" bigint,\n')
    assert files.endswith(f"WITH (external_location = 'local://{single.path}/', format = 'PARQUET');")
    assert sessions.startswith('CREATE OR REPLACE VIEW tape_sessions AS\nSELECT "session", "thread_id",')
    assert sessions.endswith(f" FROM tape_sessions_files\nWHERE \"$path\" = 'local://{single.path}/sessions.parquet';")


def test_set_is_a_view_of_its_tapes_with_the_numbers_of_the_set(folders: list[Folder]) -> None:
    _, _, events, *_ = define_views(folders[1], "trino")
    first, second = events.split("\nUNION ALL\n")
    assert first.endswith(" FROM tape_events_files_1")
    assert second.startswith('SELECT "session" + 4 AS "session", "seq",')
    assert '"file" + 1 AS "file"' in second


def test_summary_has_the_types_of_its_files(folders: list[Folder]) -> None:
    found = "\n".join(define_views(folders[2], "trino"))
    assert '"first" row("session" bigint, "seq" bigint)' in found
    assert "CREATE OR REPLACE VIEW summary_shape_counts AS\nSELECT " in found


def test_file_of_a_store_is_found_by_its_address() -> None:
    with temporary_folder() as room:
        tape = open_folder("tape", make_tape(stage(Path(room), "s3://b/x.tape"), reads(4)))
        assert "WHERE \"$path\" = 's3://b/x.tape/digests.parquet';" in "\n".join(define_views(tape, "trino"))


@pytest.fixture
def trino(tmp_path: Path) -> Iterator[str]:
    """Start a server of the newest tried version, and return its address. Its libraries have 350 MB."""
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin")
    if not java or not shutil.which("mvn"):
        pytest.skip(f"not tested: JAVA_HOME is not the folder of a JDK {JAVA}, or mvn is missing")
    version = subprocess.run([java, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.split()[1].split(".")[0]) < JAVA:
        pytest.skip(f"not tested: JAVA_HOME is not the folder of a JDK {JAVA}")
    libraries = tmp_path / "libraries"
    shutil.copy(HERE / "trino-pom.xml", tmp_path / "pom.xml")
    copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
    subprocess.run([*copy, f"-DoutputDirectory={libraries}"], cwd=tmp_path, check=True, timeout=DOWNLOAD_S)
    options = ["-Xmx2g", "--add-modules=jdk.incubator.vector", "-cp", f"{libraries}/*"]
    command = [java, *options, str(HERE / "TrinoServer.java"), str(tmp_path / "definitions")]
    log = tmp_path / "trino.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield _address(server, log)
    finally:
        server.communicate(timeout=60)


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the server prints its address into its log."""
    while server.poll() is None:
        if found := re.search(r"SERVER (http://[\w.:]+)\b", log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace"))


def ask(address: str, statement: str, schema: str) -> list[list[Any]]:
    """Run a statement and return its rows."""
    headers = {"X-Trino-User": "test", "X-Trino-Catalog": "tapes", "X-Trino-Schema": schema}
    request = urllib.request.Request(f"{address}/v1/statement", statement.encode(), headers)
    rows: list[list[Any]] = []
    while True:
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "error" not in found, (statement, found["error"]["message"])
        rows += found.get("data", [])
        if "nextUri" not in found:
            return rows
        request = urllib.request.Request(found["nextUri"], headers=headers)


def columns_of(folder: Folder) -> dict[str, list[list[int]]]:
    """Return a query per table that counts the values of every column, and its rows in DuckDB."""
    found = {}
    with duckdb.connect() as con:
        for statement in statements(folder, "duckdb"):
            con.execute(statement)
        for (table,) in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
            counted = ", ".join(f'count("{name}")' for name in con.table(table).columns)
            query = f"SELECT {counted} FROM {table}"
            found[query] = [list(row) for row in con.execute(query).fetchall()]
    return found


@pytest.mark.long
def test_trino_finds_the_same_numbers_and_as_many_values_in_each_column(trino: str, folders: list[Folder]) -> None:
    for number, folder in enumerate(folders):
        schema = f"folder_{number}"
        ask(trino, f"CREATE SCHEMA {schema}", schema)
        for statement in statements(folder, "trino"):
            ask(trino, statement.removesuffix(";"), schema)
        assert [ask(trino, query, schema)[0] for query in queries(folder)] == expected(folder)
        for query, rows in columns_of(folder).items():
            assert ask(trino, query, schema) == rows, query

# SPDX-License-Identifier: Apache-2.0
"""Checks of Parquet files against the SQL schema: columns, types, NULL values and limits."""

import os
from pathlib import Path

import pytest
from querytape.common.errors import FolderError
from querytape.schemas import TABLES, check_parquet, parquet_check
from querytape.schemas.tables import declared

from tests.helpers.duck import database

pytestmark = pytest.mark.slow


def write(path: Path, kind: str, table: str, /, **values: str) -> Path:
    """Write one row of a table. `values` maps columns to SQL expressions. A column with an empty expression is left
    out.
    """
    parts = []
    for column in declared(kind, table):
        plain = {"VARCHAR": "'x'", "BLOB": "'x'::BLOB", "BOOLEAN": "true", "VARCHAR[]": "['x']", "DOUBLE": "1::DOUBLE"}
        value = values.get(column.name, plain.get(column.type, f"1::{column.type}"))
        if value:
            parts.append(f'{value} AS "{column.name}"')
    with database() as con:
        con.execute(f"COPY (SELECT {', '.join(parts)}) TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "table"), [(kind, table) for kind in TABLES for table in TABLES[kind]])
def test_every_column_is_checked(tmp_path: Path, kind: str, table: str) -> None:
    """The message names the file of a column that is missing, has the wrong type, has a NULL or exceeds its limits."""
    whole = write(tmp_path / "whole.parquet", kind, table)
    assert check_parquet(kind, table, [whole]) == {whole: 1}
    file = tmp_path / "hurt.parquet"
    for column in declared(kind, table):
        hurts = {"": "is missing", "[[1]]": "expected"}
        if column.not_null:
            hurts[f"NULL::{column.type}"] = "contains NULL, which is not allowed"
        if column.limits is not None and column.type == "BIGINT":
            ends = [str(end) for end in (-(2**63), 2**63 - 1) if not column.limits[0] <= end <= column.limits[1]]
            hurts |= {f"CAST('{end}' AS BIGINT)": "expected .*, found" for end in ends}
        for value, sentence in hurts.items():
            write(file, kind, table, **{column.name: value})
            with pytest.raises(FolderError, match=rf"hurt\.parquet: column {column.name}.*{sentence}"):
                check_parquet(kind, table, [whole, file])


def test_session_numbers_are_limited(tmp_path: Path) -> None:
    """The session numbers 0 and 2^40 are refused."""
    for number in (1 << 40, 0):
        file = write(tmp_path / "x.parquet", "tape", "events", session=f"{number}::BIGINT")
        with pytest.raises(FolderError, match=f"column session: expected 1 to .*, found {number}"):
            check_parquet("tape", "events", [file])


def test_cut_parquet_file_is_refused(tmp_path: Path) -> None:
    """A Parquet file that is cut anywhere, or whose bytes were changed, is refused."""
    whole = write(tmp_path / "whole.parquet", "tape", "problems").read_bytes()
    file = tmp_path / "cut.parquet"
    for size in range(0, len(whole), 7):
        file.write_bytes(whole[:size])
        with pytest.raises(FolderError, match=r"cut\.parquet: the file is damaged"):
            check_parquet("tape", "problems", [file])


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A link, a pipe, a folder or a missing file is refused."""
    whole = write(tmp_path / "whole.parquet", "tape", "problems")
    (tmp_path / "link").symlink_to(whole)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "nothing"):
        with pytest.raises(FolderError, match=name):
            check_parquet("tape", "problems", [tmp_path / name])


@pytest.mark.parametrize(
    ("footer", "sentence"),
    [
        (20, "its Parquet footer cannot be read"),
        (21, "its end is missing"),
        (28, "its end is missing"),
        (2**31, "missing"),
    ],
)
def test_footer_longer_than_its_file_is_refused(tmp_path: Path, footer: int, sentence: str) -> None:
    """The footer must fit into the file. If its stated length is larger, the file was cut."""
    file = tmp_path / "x.parquet"
    file.write_bytes(b"PAR1" + b"\0" * 20 + footer.to_bytes(4, "little") + b"PAR1")
    with pytest.raises(FolderError, match=rf"x\.parquet: the file is damaged: .*{sentence}"):
        check_parquet("tape", "problems", [file])
    file.write_bytes(b"PAR1" + b"\0" * 3)
    with pytest.raises(FolderError, match=r"its end is missing after 7 bytes"):
        check_parquet("tape", "problems", [file])


def test_column_without_statistics_is_read(tmp_path: Path) -> None:
    """If the footer has no statistics for a column, the values of the column are read and checked. An unreadable column
    is reported.
    """
    column = next(each for each in declared("tape", "events") if each.name == "session")
    footers = parquet_check._Footers()
    with database() as con:
        for number, sentence in (
            (1, None),
            (0, "column session: expected 1 to .*, found 0"),
            (None, "column session contains NULL"),
        ):
            file = write(tmp_path / f"{number}.parquet", "tape", "events", session=f"{number or 'NULL'}::BIGINT")
            if number == 0:
                write(file, "tape", "events", session="0::BIGINT")
            footers.stats = {"session": [(str(file), 1, None, None, None)]}
            if sentence is None:
                parquet_check._check_values(con, column, {str(file): file}, footers)
            else:
                with pytest.raises(FolderError, match=rf"{number}\.parquet: {sentence}"):
                    parquet_check._check_values(con, column, {str(file): file}, footers)
        footers.stats = {"session": [("nowhere.parquet", 1, 0, None, 5)]}
        with pytest.raises(FolderError, match=r"^shown\.parquet: the file is damaged: column session cannot be read"):
            parquet_check._check_values(con, column, {"nowhere.parquet": Path("shown.parquet")}, footers)

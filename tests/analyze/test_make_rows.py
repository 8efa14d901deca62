# SPDX-License-Identifier: Apache-2.0
"""The generated files rows.py and tape_rows.py match the SQL of the analyses."""

import sys

import duckdb
import pytest
from duckdb.sqltypes import BIGINT, DATE, DOUBLE, VARCHAR
from querytape.analyze import make_rows
from querytape.analyze.make_rows import Rows


def test_row_type_files_are_up_to_date() -> None:
    assert [path.name for path, text in make_rows.made().items() if path.read_text(encoding="utf-8") != text] == []


def test_check_names_the_command_for_an_outdated_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With `check`, an outdated file is an error and stays unchanged. Without `check`, the file is written."""
    file = tmp_path_factory.mktemp("rows") / "rows.py"
    file.write_text("")
    monkeypatch.setattr(make_rows, "made", lambda: {file: "X = 1\n"})
    monkeypatch.setattr(sys, "argv", ["make_rows", "check"])
    with pytest.raises(SystemExit, match=r"rows\.py: out of date with the SQL of the analyses: run `make names`"):
        make_rows.main()
    assert file.read_text() == ""
    monkeypatch.setattr(sys, "argv", ["make_rows"])
    make_rows.main()
    assert file.read_text() == "X = 1\n"


def test_text_of_a_row_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """The type of a nullable column contains None. If a column has the name of a Python keyword, the type uses the call
    syntax.
    """
    monkeypatch.setattr(make_rows, "NULLABLE", {"report/compared": ("error",)})
    (text,) = Rows("report/compared", {"n": BIGINT, "error": VARCHAR}).texts()
    assert text.endswith("    n: int\n    error: str | None\n")
    (text,) = Rows("report/compared", {"class": VARCHAR, "error": VARCHAR}).texts()
    assert text.endswith('    {\n        "class": str,\n        "error": str | None,\n    },\n)\n')


def test_row_that_may_lack_columns_is_not_total() -> None:
    row, part = Rows("report/pairs", {"n": BIGINT, "tail_share": DOUBLE}).texts()
    assert row.startswith("class PairsRow(TypedDict):\n")
    assert part.startswith("class PairsPart(TypedDict, total=False):\n")
    assert make_rows.dict_text("X", "It.", {"class": "str"}, False).endswith("    },\n    total=False,\n)\n")


def test_invalid_row_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that no analysis may return is refused. NULLABLE must not name a column that no longer exists."""
    with pytest.raises(ValueError, match=r"report/compared\.day: expected a type of .*, found DATE"):
        Rows("report/compared", {"day": DATE}).texts()
    monkeypatch.setattr(make_rows, "NULLABLE", {"report/compared": ("error",)})
    with pytest.raises(ValueError, match="report/compared: NULLABLE names error, which it does not have"):
        Rows("report/compared", {"n": BIGINT}).texts()


def test_types_of_lists_and_structs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list has the type of its elements, and a struct has its own type. NULLABLE names nested columns by their path."""
    monkeypatch.setattr(make_rows, "NULLABLE", {"inspect/sizes": ("bytes", "parts[].n")})
    with duckdb.connect() as con:
        rows = con.sql("SELECT [1] AS bytes, [{'n': 1, 'name': ''}] AS parts")
        part, row = Rows("inspect/sizes", dict(zip(rows.columns, rows.types, strict=True))).texts()
    assert part.startswith("class TapeSizesParts(TypedDict):\n")
    assert part.endswith("    n: int | None\n    name: str\n")
    assert row.endswith("    bytes: list[int] | None\n    parts: list[TapeSizesParts]\n")

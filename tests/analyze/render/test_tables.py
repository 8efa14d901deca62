# SPDX-License-Identifier: Apache-2.0
"""Each table of a report as CSV and Parquet."""

from pathlib import Path

import duckdb
import pytest
from querytape.analyze import Report, write_tables
from querytape.analyze.render.tables import _write as write_rows
from querytape.common.errors import InputError

from tests.helpers.simulated import digest_name


def test_exported_tables_can_be_read_again(report: Report, tmp_path: Path) -> None:
    """Only their owner can read the exported files. An existing folder is refused."""
    folder = tmp_path / "tables"
    write_tables(report, folder)
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT digest, verdict FROM '{folder}/verdicts.parquet' WHERE verdict = 'slower'"
        ).fetchall()
        assert rows == [(digest_name(5), "slower")]
        assert con.execute(f"SELECT count(*) FROM '{folder}/totals.csv'").fetchall() == [(2,)]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert {path.stem for path in folder.glob("*.csv")} == {path.stem for path in folder.glob("*.parquet")}
    with pytest.raises(InputError, match="can't be written"):
        write_tables(report, folder)


def test_csv_cells_contain_no_formulas_or_control_characters(tmp_path: Path) -> None:
    """A text that a spreadsheet would treat as a formula gets a leading quote. Control characters become spaces."""
    texts = ["=1+1", "+x", "-x", "@x", "\tx", "a\x1b[31mb", "a-b", "two\nlines", ""]
    with duckdb.connect() as con:
        write_rows(con, [{"text": text, "n": -1} for text in texts], tmp_path / "t")
        found = con.execute(f"SELECT text, n FROM read_csv('{tmp_path}/t.csv', quote='\"')").fetchall()
        kept = con.execute(f"SELECT text FROM '{tmp_path}/t.parquet'").fetchall()
    wanted = ["'=1+1", "'+x", "'-x", "'@x", "' x", "a [31mb", "a-b", "two\nlines"]
    assert [row[0] for row in found][:8] == wanted
    assert {row[1] for row in found} == {-1}
    assert [row[0] for row in kept] == texts

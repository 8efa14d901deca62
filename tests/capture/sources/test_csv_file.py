# SPDX-License-Identifier: Apache-2.0
"""CSV with a mapping from its columns to those of events."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError

from tests.helpers.reading import tape_of


def test_csv_with_a_mapping(tmp_path: Path) -> None:
    """Columns by name, times in milliseconds or as texts, a row without a time as a problem."""
    path = tmp_path / "sql.csv"
    path.write_text(
        'ts,conn,sql_text,latency,who\n1718000000500,5,"SELECT ""x"", 1",1500,app\nnever,5,SELECT 2,1,app\n'
        "1718000000400,5,SELECT 0,10,app\n"
    )
    columns = ["time=ts", "thread_id=conn", "statement=sql_text", "duration=latency", "user=who"]
    units = {"time_unit": "ms", "duration_unit": "us"}
    found, info = tape_of("csv", path, tmp_path, column=columns, **units)
    assert [row[1:5] for row in found] == [
        (b"SELECT 0", 5, 1718000000400000000, 10_000),
        (b'SELECT "x", 1', 5, 1718000000500000000, 1_500_000),
    ]
    assert info["problems"] == {"not_understood": 1}
    text = tmp_path / "text.csv"
    text.write_text("ts,q\n10/06/2024 06:13:20,SELECT 1\n")
    found, _ = tape_of("csv", text, tmp_path, column=["time=ts", "statement=q"], time_format="%d/%m/%Y %H:%M:%S")
    assert found[0][3] == 1718000000000000000


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["time=ts"], "statement must be given"),
        (["time=ts", "statement=nope"], "no column 'nope'; it has ts, q"),
        (["wrong=ts"], "FIELD one of time, duration"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(tmp_path: Path, columns: list[str], said: str) -> None:
    """With the names that there are."""
    path = tmp_path / "a.csv"
    path.write_text("ts,q\n1,SELECT 1\n")
    with pytest.raises(InputError, match=said):
        tape_of("csv", path, tmp_path, column=columns)
    assert not (tmp_path / "a.csv.tape").exists()


def test_unknown_unit(tmp_path: Path) -> None:
    """A unit that does not exist is refused with those that do."""
    path = tmp_path / "a.csv"
    path.write_text("ts,q\n1,SELECT 1\n")
    with pytest.raises(InputError, match="--time-unit: expected one of s, ms, us, ns, found 'days'"):
        tape_of("csv", path, tmp_path, column=["time=ts", "statement=q"], time_unit="days")

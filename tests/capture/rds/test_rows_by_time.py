# SPDX-License-Identifier: Apache-2.0
"""Rows come in the order of time, with what goes on behind them; late ones are counted."""

from querytape.capture.rds.rows_by_time import RowsByTime


def test_rows_are_held_and_given() -> None:
    """Up to a time; a row's second line stays behind its first; what comes after later ones is late."""
    rows = RowsByTime()
    last = rows.hold("1795000000000300,c\n", 0)
    rows.hold("goes on\n", last)
    rows.hold("1795000000000100,a\n", last)
    assert (rows.newest, list(rows.give(1795000000000200))) == (1795000000000300, ["1795000000000100,a\n"])
    rows.hold("1795000000000200,b\n", 0)
    assert list(rows.give(None)) == ["1795000000000200,b\n1795000000000300,c\ngoes on\n"]
    assert rows.late == 0
    rows.hold("1795000000000250,late\n", 0)
    assert (list(rows.give(None)), rows.late) == (["1795000000000250,late\n"], 1)
    assert list(rows.give(None)) == []

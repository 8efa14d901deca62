# SPDX-License-Identifier: Apache-2.0
"""The table of totals."""

from querytape.analyze import Report
from querytape.analyze.render.totals import TOTALS, totals


def test_totals_have_all_rows_and_only_times_have_a_ratio(small_report: Report) -> None:
    rows = {total.column: total for total in totals(small_report)}
    assert list(rows) == [column for _, column, _ in TOTALS]
    assert rows["executed"].cells == ["60", "60"]
    assert rows["executed"].ratio == ""
    assert rows["service_p50_ns"].cells == ["3.00ms", "6.00ms"]
    assert rows["service_p50_ns"].ratio == "x2.00"
    assert rows["service_p999_ns"].cells == ["-", "-"]


def test_single_run_has_one_cell_per_row(small_report: Report) -> None:
    alone = Report(small_report.tape, small_report.a, [], answers=small_report.answers)
    assert {(len(total.cells), total.ratio) for total in totals(alone)} == {(1, "")}

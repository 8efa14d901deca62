# SPDX-License-Identifier: Apache-2.0
"""Tests of the layout of the live view in windows of any size."""

import random

import pytest
from querytape.cli.view_frame import Digest, Seen, frame
from rich.text import Text

SECOND = 1_000_000_000
MS = 1_000_000


def full(number: int = 1523, ns: int = 1_200_000) -> Seen:
    """Return the state of a run that has data for every part of the view."""
    seen = Seen("a.run → app@10.0.0.7:3306/shop", at_ns=72 * SECOND, share=0.34, eta_ns=139 * SECOND)
    seen.sent, seen.planned, seen.due, seen.waiting, seen.queued_bytes = 18_234, 53_111, 18_240, 1_234, 3_100_000
    seen.sessions = 48
    for n in range(100):
        seen.rate.append(number * (n % 10))
        seen.p95.append(ns * (n % 7) if n % 5 else None)
        seen.errors.append(n % 2)
        seen.late.append(ns)
    seen.order = 210, 7
    seen.slowest = [Digest(f"select {n} from orders where id = ?", 10**n, ns, ns * 10**n, n == 2) for n in range(10)]
    seen.warnings = [f"warning number {n}" for n in range(5)]
    return seen


def texts(seen: Seen, columns: int, rows: int, ascii_only: bool = False) -> list[str]:
    return [line.plain for line in frame(seen, columns, rows, ascii_only)]


def test_view_of_80_columns_shows_every_part_in_aligned_columns() -> None:
    found = texts(full(), 79, 22)
    assert found[0] == "a.run → app@10.0.0.7:3306/shop"
    assert found[1].startswith("1:12 ━━━")
    assert found[1].endswith("───  34%  2:19 left")
    assert len(found[1]) == 79
    assert found[2] == "sent 18,234 of 53,111   due 18,240   48 sessions   queue 1234 (3 MB)"
    assert found[3] == "        now last 60 s" + " " * 53 + "most"
    assert found[4].startswith("q/s   13.7k ▁▂")
    assert found[4].endswith("█ 13.7k")
    assert [line[:5] for line in found[5:8]] == ["p95  ", "err/s", "late "]
    assert found[8] == "commit order: 210 waits/s, 7 waits ended by --order-bound"
    assert found[9] == "slowest so far" + " " * 47 + "count  mean  total"
    assert found[10] == "select 0 from orders where id = ?".ljust(61) + "    1 1.2ms  1.2ms"
    assert found[12] == "select 2 from orders where id = ?".ljust(61) + "  100 1.2ms ≥120ms"
    assert found[-3:] == ["3 warnings above", "warning: warning number 3", "warning: warning number 4"]
    assert len(found) == 22


def test_view_omits_parts_without_data() -> None:
    """An unpaced replay has no row about lateness. A replay without --order commit has no row about order waits. The
    time left is omitted while it is unknown.
    """
    seen = Seen("a.run", state="opening sessions: 12", planned=9, not_sent=3, paced=False)
    found = texts(seen, 79, 22)
    assert found[1].endswith("─   0%")
    assert found[2] == "opening sessions: 12"
    assert found[3] == "sent 0 of 9   not sent 3   0 sessions   queue 0 (0 MB)"
    assert [line[:5].strip() for line in found[4:]] == ["", "q/s", "p95", "err/s"]
    assert found[5].split() == ["q/s", "-", "-"]


@pytest.mark.parametrize("number", [0, 9_999, 999_499, 10**8, 2**62])
@pytest.mark.parametrize("ns", [0, 999_499, 9_950_000, 3599 * SECOND, 2**62])
def test_view_never_exceeds_the_window(number: int, ns: int) -> None:
    """If the window is too small, rows at the bottom of the view are left out first."""
    seen = full(number, ns)
    seen.sent = seen.planned = number
    for columns in (1, 10, 19, 40, 59, 79, 80, 120, 300):
        everything = texts(seen, columns, 100)
        for rows in (0, 1, 3, 8, 9, 11, 12, 18, 22, 50):
            for ascii_only in (False, True):
                found = frame(seen, columns, rows, ascii_only)
                assert len(found) <= rows
                assert all(line.cell_len <= columns for line in found)
            assert texts(seen, columns, rows)[: min(rows, 9)] == everything[: min(rows, 9)]


def test_small_window_drops_digests_and_warnings_first() -> None:
    """If there is space for only one digest, no digest is shown."""
    seen = full()
    heads = [sum("slowest so far" in line for line in texts(seen, 79, rows)) for rows in range(9, 23)]
    assert heads == sorted(heads)
    for rows in range(9, 40):
        digests = [line for line in texts(seen, 79, rows) if line.startswith("select")]
        assert len(digests) != 1
        assert len(digests) <= 10
    assert len(texts(seen, 79, 10)) == 10
    assert texts(seen, 79, 10)[-1] == "5 warnings above"


def test_hostile_names_cannot_control_the_terminal() -> None:
    """Control characters are removed from names and statements, and markup in them stays literal. A wide character
    counts as two columns.
    """
    seen = full()
    seen.heading = "[red]a\x1b[2J.run"
    seen.slowest = [
        Digest("select `表表表表表表表表表表表表表表表表表表表表表表表表表表表表表表表表` " * 2, 1, 1, 1)
    ] * 3
    seen.warnings = ["a\nb\x07"]
    lines = frame(seen, 60, 22)
    assert lines[0].plain == "[red]a [2J.run"
    assert lines[-1].plain == "warning: a b "
    assert {line.cell_len for line in lines if line.plain.startswith("select")} == {60}
    assert all(line.plain.isprintable() for line in lines)


def test_ascii_view_has_no_unicode() -> None:
    seen = full()
    seen.slowest = [Digest("select `ä` from t", 1, 1_000, 85_000, True)] * 2
    seen.heading = "a.run -> ä"
    found = texts(seen, 79, 22, ascii_only=True)
    assert all(line.isascii() for line in found)
    assert found[0] == "a.run -> ?"
    assert found[10].endswith("    1   1us  >85us")


def test_rows_with_errors_or_timed_out_waits_are_red() -> None:
    """The error row is red only while the latest second has errors. The row of the commit order is red after an order
    wait timed out.
    """

    def red(seen: Seen, name: str) -> bool:
        line: Text = next(line for line in frame(seen, 79, 22) if line.plain.startswith(name))
        return line.style == "red"

    seen = full()
    assert red(seen, "err/s")
    assert red(seen, "commit order")
    seen.errors.append(0)
    seen.order = 210, 0
    assert not red(seen, "err/s")
    assert not red(seen, "commit order")
    assert not red(seen, "q/s")


def test_rows_show_the_latest_value_left_and_the_maximum_right() -> None:
    rng = random.Random(5)
    for columns in (40, 60, 79):
        seen = Seen("a.run")
        values = [rng.randint(0, 9_999) for _ in range(200)]
        for value in values:
            seen.rate.append(value)
        row = texts(seen, columns, 22)[4].split()
        shown = values[-min(columns - 19, 60) :]
        assert (row[1], row[-1]) == (str(values[-1]), str(max(shown)))

# SPDX-License-Identifier: Apache-2.0
"""What is said of a run's order of commits."""

from querytape.replay.observe.order import order_warnings


def said(waits: int, broken: int, *notes: str) -> list[str]:
    return order_warnings(
        {"accounting": {"order_waits": waits, "order_broken": broken}, "plan": {"order_notes": list(notes)}}
    )


def test_a_whole_order_leaves_only_its_notes() -> None:
    assert said(100, 0) == []
    assert said(100, 0, "only arrivals") == ["--order commit: only arrivals"]


def test_broken_waits_come_first_and_too_many_mean_the_order_was_not_kept() -> None:
    few, note = said(1000, 2, "n")
    assert few.startswith("--order commit: 2 of 1,000 waits")
    assert "not kept" not in few
    assert note == "--order commit: n"
    assert "the order of the tape was not kept" in said(1000, 11)[0]
    assert "3 of 3 waits" in said(0, 3)[0]


def test_a_run_without_order_notes_has_warnings_too() -> None:
    assert order_warnings({"accounting": {"order_waits": 1, "order_broken": 0}, "plan": {}}) == []

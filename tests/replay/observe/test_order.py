# SPDX-License-Identifier: Apache-2.0
"""What is said of a run's order of commits."""

from querytape.replay.observe.order import order_warnings


def said(waits: int, broken: int, *notes: str) -> list[str]:
    """Return the warnings of a run."""
    return order_warnings(
        {"accounting": {"order_waits": waits, "order_broken": broken}, "plan": {"order_notes": list(notes)}}
    )


def test_a_whole_order_leaves_only_its_notes() -> None:
    assert said(100, 0) == []
    assert said(100, 0, "only arrivals") == ["--order commit: only arrivals"]


def test_broken_waits() -> None:
    """They come first; above a share the order was not kept."""
    few, note = said(1000, 2, "n")
    assert few.startswith("--order commit: 2 of 1,000 waits")
    assert "not kept" not in few
    assert note == "--order commit: n"
    assert "the order of the tape was not kept" in said(1000, 11)[0]
    assert "3 of 3 waits" in said(0, 3)[0]


def test_runs_of_older_versions() -> None:
    """A run.json without the notes is read as well."""
    assert order_warnings({"accounting": {"order_waits": 1, "order_broken": 0}, "plan": {}}) == []
